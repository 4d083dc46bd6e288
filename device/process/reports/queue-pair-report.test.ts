// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pairs for the control socket: failures in words, and lists in the order of their numbers,
 * in parts that a client can hold.
 */
import t from 'tap';
import { NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';
import { LIST_MAX, listQueuePairs } from './queue-pair-report.ts';

t.test('many queue pairs come in parts', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 2 ** 26 });
  const sendCq = fixture.createCompletionQueue();
  const qpns = Array.from({ length: LIST_MAX + 2 }, () => fixture.createQueuePair({ sendCq, state: 'reset' }).qpn);
  const adapter = fixture.machine.device;
  const first = listQueuePairs(adapter, 0);
  t.equal(first.next, qpns[LIST_MAX]);
  const second = listQueuePairs(adapter, first.next as number);
  t.equal(second.next, undefined);
  const listed = [...first.queuePairs, ...second.queuePairs].map(({ number }) => number);
  t.same(
    listed,
    qpns.sort((a, b) => a - b),
  );
  t.ok(JSON.stringify(first).length < 2 ** 19, 'half of what the control socket keeps for a client');
});

/** A connected QP that has sent two messages, with no retries. */
function sent(): PacketPeer {
  const peer = new PacketPeer({ rnrRetry: 0 });
  for (let count = 0; count < 2; count++) peer.qp.post({ inline: new Uint8Array(8) });
  peer.settle().take();
  return peer;
}

t.test('the failure of a queue pair in words', async (t) => {
  const peer = sent();
  const { adapter } = peer;
  t.equal(listQueuePairs(adapter, 0).queuePairs[0].failure, undefined);
  peer.nak(1, NakCode.REMOTE_ACCESS_ERROR);
  t.same(listQueuePairs(adapter, 0).queuePairs[0].failure, {
    cause: 'send',
    state: 'RTS',
    status: 'REMOTE_ACCESS_ERROR',
    fault: 'NONE',
    wqe: 1,
    psn: 101,
    syndrome: 'NAK REMOTE_ACCESS_ERROR',
    timeNs: peer.fixture.machine.clock.now(),
  });
});

t.test('the timer of an RNR NAK is a time', async (t) => {
  const peer = sent();
  peer.receiverNotReady(0, 12);
  t.equal(listQueuePairs(peer.adapter, 0).queuePairs[0].failure?.syndrome, 'RNR_NAK 0.64 ms');
});
