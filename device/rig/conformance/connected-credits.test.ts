// SPDX-License-Identifier: Apache-2.0
/**
 * End-to-end credits at the requester: the credit codes, the operations that need a credit,
 * unsolicited acknowledgements (IBTA 9.7.7.2).
 */

import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { creditField, creditsOf } from '../../../protocol/infiniband/syndrome.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import { requesterOf } from '../../hca/transport/state/connected-states.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const UNLIMITED = 31;
/** Receive entries granted, by credit code (table of IBTA 9.7.7.2). */
const GRANTED = [
  0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
  8192, 12288, 16384, 24576, 32768,
];
const one: SendRequest = { inline: Uint8Array.of(1) };
const remote = { address: 0, rkey: 7 };

/** A peer that has acknowledged one SEND with this credit code. */
function granted(code: number): PacketPeer {
  const peer = new PacketPeer({ timeout: 0 });
  peer.qp.post(one);
  peer.take();
  return peer.acknowledge(0, { msn: 1, syndromeValue: code });
}

function post(peer: PacketPeer, count: number, request = one): number {
  for (let index = 0; index < count; index++) peer.qp.post(request);
  return peer.take().length;
}

t.test('each credit code grants the number of messages in the table', async (t) => {
  ledger(t, '9.7.7.2', 'Credit codes 0 to 30 grant the number of receive entries in the table');
  t.same(
    GRANTED.map((_, code) => creditsOf(code)),
    GRANTED,
  );
  for (const [code, credits] of GRANTED.entries()) {
    t.equal(creditField(credits), code);
    t.equal(creditField(credits + 1), GRANTED[code + 1] === credits + 1 ? code + 1 : code, 'rounded down');
  }
});

t.test('a requester sends no more messages than it has credits', async (t) => {
  ledger(t, '9.7.7.2', 'A requester sends as many messages as it has credits, and the next waits');
  for (const code of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const peer = granted(code);
    t.equal(post(peer, 30), GRANTED[code], `code ${code}`);
    peer.acknowledge(1, { msn: 2, syndromeValue: code });
    t.equal(peer.take().length, 1, 'one taken, one more may go');
  }
});

t.test('only messages that consume a receive entry need a credit', async (t) => {
  ledger(t, '9.7.7.2', 'SENDs of all kinds and RDMA WRITE with immediate need a credit; other operations do not');
  const needy: SendRequest[] = [
    one,
    { ...one, immediate: 4 },
    { ...one, opcode: SendOpcode.SEND_INVALIDATE },
    { ...one, opcode: SendOpcode.RDMA_WRITE_IMMEDIATE, remote },
  ];
  for (const request of needy) t.equal(post(granted(1), 3, request), 1, `opcode ${request.opcode}`);
  const free = granted(0);
  const sge = free.fixture.sge(free.fixture.createBuffer(8));
  const sges = [sge];
  const frees: SendRequest[] = [
    { ...one, opcode: SendOpcode.RDMA_WRITE, remote },
    { opcode: SendOpcode.RDMA_READ, remote, sges },
    { opcode: SendOpcode.FETCH_ADD, remote, sges, atomic: { swapOrAdd: 1n } },
  ];
  for (const request of frees) t.equal(post(free, 2, request), 2, `opcode ${request.opcode}`);
});

t.test('an unsolicited acknowledgement grants credits', async (t) => {
  ledger(t, '9.7.7.2', 'An unsolicited acknowledgement, which repeats the newest one, grants its credits');
  for (const [code, sent] of [
    [3, 2],
    [UNLIMITED, 4],
  ] as const) {
    const peer = granted(1);
    t.equal(post(peer, 5), 1);
    peer.acknowledge(0, { msn: 1, syndromeValue: code });
    t.equal(peer.take().length, sent, `code ${code}`);
    t.notOk(peer.qp.parts.sendCq.drain().length > 1, 'it acknowledges nothing');
    t.equal(peer.adapter.engine.connected.completer.ghosts, 0);
  }
});

t.test('a late duplicate acknowledgement changes no credits', async (t) => {
  ledger(t, '9.7.7.2', 'A late duplicate of an acknowledgement neither grants nor revokes credits');
  const peer = granted(2);
  t.equal(post(peer, 1), 1);
  peer.acknowledge(1, { msn: 2, syndromeValue: 4 });
  t.equal(post(peer, 2), 2);
  peer.acknowledge(0, { msn: 1, syndromeValue: UNLIMITED });
  peer.acknowledge(1, { msn: 2, syndromeValue: 0 });
  peer.respond(BthOpcode.RC_ACKNOWLEDGE, 1, { syndromeKind: 1, msn: 2, syndromeValue: UNLIMITED });
  t.equal(post(peer, 9), 2, 'four were granted, two of them used');
  t.equal(peer.adapter.engine.connected.completer.ghosts, 3);
});

t.test('credits count across the wrap of message numbers', async (t) => {
  ledger(t, '9.7.7.2', 'Credits are counted from the MSN modulo 2^24');
  const peer = new PacketPeer({ timeout: 0 });
  const requester = requesterOf(peer.adapter.tables.queuePairs.get(peer.qp.qpn) as QueuePair);
  if (requester === undefined) return t.fail('no requester');
  requester.sendSequence = 0xfffffe;
  t.equal(post(peer, 1), 1);
  peer.acknowledge(0, { msn: 0xfffffe, syndromeValue: 4 });
  t.equal(post(peer, 9), 4);
  peer.acknowledge(4, { msn: 2, syndromeValue: 2 });
  t.equal(peer.take().length, 2);
});
