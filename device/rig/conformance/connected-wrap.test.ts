// SPDX-License-Identifier: Apache-2.0
/**
 * PSNs that wrap at 2^24 in READs and between atomics, with losses and duplicates on both sides of
 * the wrap (IBTA 9.7.1, 9.7.5.1, 9.7.6).
 */
import t from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { CompletionStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const op = BthOpcode;
const MTU = 256;
const TIMEOUT_NS = 4096 * 2 ** 10;
/** Two PSNs before the wrap. */
const LATE = 0xfffffe;
const remote = { address: 0x10_0000_0000, rkey: 0x77 };
const full = (byte: number): Uint8Array => new Uint8Array(MTU).fill(byte);
const statuses = (peer: PacketPeer): number[] => peer.qp.parts.sendCq.drain().map(({ status }) => status);

t.test('requester: a READ crosses the wrap', async (t) => {
  ledger(
    t,
    '9.7.1',
    'A READ whose responses cross the wrap is repeated from the missing PSN on, before or after the wrap',
  );
  for (const lost of [0, 1, 2, 3]) {
    const peer = new PacketPeer({ sendPsn: LATE });
    const local = peer.fixture.createBuffer(5 * MTU);
    peer.qp.post({ opcode: SendOpcode.RDMA_READ, remote, sges: [peer.fixture.sge(local)] });
    t.match(peer.takeOne(), { psn: LATE });
    const opcodeOf = (index: number, first: number) =>
      index === 4
        ? op.RC_RDMA_READ_RESPONSE_LAST
        : index === first
          ? op.RC_RDMA_READ_RESPONSE_FIRST
          : op.RC_RDMA_READ_RESPONSE_MIDDLE;
    for (let index = 0; index < 5; index++)
      if (index !== lost) peer.respond(opcodeOf(index, 0), index, {}, full(index < lost ? 1 : 9));
    const again = { psn: (LATE + lost) & PSN_MASK, address: remote.address + lost * MTU, dmaLength: (5 - lost) * MTU };
    t.match(peer.takeOne(), again, `response ${lost} is lost`);
    for (let index = lost; index < 5; index++) peer.respond(opcodeOf(index, lost), index, {}, full(1));
    t.same(statuses(peer), [CompletionStatus.SUCCESS]);
    t.ok(local.bytes.every((byte) => byte === 1));
    peer.qp.post({ inline: Uint8Array.of(1) });
    t.equal(peer.takeOne().psn, 3, 'the next request is behind the last response');
  }
});

t.test('requester: SENDs and atomics cross the wrap', async (t) => {
  ledger(t, '9.7.1', 'Requests on both sides of the wrap are acknowledged, refused and repeated like all others');
  const peer = new PacketPeer({ sendPsn: LATE });
  const local = peer.fixture.createBuffer(8);
  const atomic = { opcode: SendOpcode.FETCH_ADD, remote, atomic: { swapOrAdd: 1n }, sges: [peer.fixture.sge(local)] };
  for (let count = 0; count < 2; count++) peer.qp.post({ inline: Uint8Array.of(count) });
  for (let count = 0; count < 2; count++) peer.qp.post(atomic);
  t.same(
    peer.take().map(({ psn }) => psn),
    [LATE, 0xffffff, 0, 1],
  );
  peer.nak(1, NakCode.PSN_SEQUENCE_ERROR);
  t.same(peer.takeRequests(), ['SEND_ONLY 1', 'FETCH_ADD 2', 'FETCH_ADD 3']);
  peer.respond(op.RC_ATOMIC_ACKNOWLEDGE, 2).wait(TIMEOUT_NS);
  t.same(peer.takeRequests(), ['FETCH_ADD 3'], 'the first atomic is done, the second is not');
  peer.acknowledge(0).respond(op.RC_ATOMIC_ACKNOWLEDGE, 2).respond(op.RC_ATOMIC_ACKNOWLEDGE, 3);
  t.same(statuses(peer), [0, 0, 0, 0]);
  t.equal(peer.adapter.engine.connected.completer.ghosts, 2, 'copies from before the wrap, and from behind it');
});

t.test('responder: a READ crosses the wrap', async (t) => {
  ledger(t, '9.7.1', 'The responses of a READ cross the wrap, also when a part of it is repeated');
  const peer = new PacketPeer({ receivePsn: LATE });
  const source = peer.remoteBuffer(peer.fixture.random.bytes(4 * MTU));
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source));
  t.same(
    peer.take().map(({ psn }) => psn),
    [LATE, 0xffffff, 0, 1],
  );
  for (const [psn, answers] of [
    [0xffffff, ['FIRST 16777215', 'MIDDLE 0', 'LAST 1']],
    [0, ['FIRST 0', 'LAST 1']],
    [1, ['ONLY 1']],
    [LATE, ['FIRST 16777214', 'MIDDLE 16777215', 'MIDDLE 0', 'LAST 1']],
  ] as const) {
    const done = ((psn - LATE) & PSN_MASK) * MTU;
    peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(source, 4 * MTU - done, done), psn });
    const again = peer.take();
    t.same(
      again.map((answer) => `${answer.name.replace('RDMA_READ_RESPONSE_', '')} ${answer.psn}`),
      answers,
    );
    t.same(again[0]?.payload, source.bytes.slice(done, done + MTU));
  }
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(op.RC_SEND_ONLY, { psn: 2 });
  t.same(peer.takeAnswers(), ['ACK 2']);
});

t.test('responder: atomics cross the wrap', async (t) => {
  ledger(t, '9.7.1', 'After the wrap, atomics from before it are duplicates: they get the saved results');
  const peer = new PacketPeer({ receivePsn: LATE });
  const cell = peer.remoteBuffer(8);
  const add = { ...peer.target(cell), swapOrAddLow: 10 };
  const psns = [LATE, 0xffffff, 0, 1];
  for (const psn of psns) peer.request(op.RC_FETCH_ADD, { ...add, psn }).take();
  for (const [index, psn] of psns.entries()) {
    const answer = peer.request(op.RC_FETCH_ADD, { ...add, psn }).takeOne();
    t.match(answer, { name: 'ATOMIC_ACKNOWLEDGE', psn, originalLow: index * 10 });
  }
  t.equal(cell.bytes[0], 40);
  peer.request(op.RC_FETCH_ADD, { ...add, psn: 3 });
  t.same(peer.takeAnswers(), ['NAK 0 2'], 'ahead of what is expected');
});
