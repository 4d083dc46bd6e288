// SPDX-License-Identifier: Apache-2.0
/**
 * Packets that are sent again while reads of guest memory take time (IBTA 9.9.2.4.1): their payload
 * takes the latency once more and occupies DMA contexts, packets keep their order, timeouts wait,
 * and ended messages leave nothing behind.
 */
import t from 'tap';
import { NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { ackTimeoutNs, rnrTimerNs } from '../../../../protocol/infiniband/syndrome.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { PacketPeer } from '../../../rig/fixtures/packet-peer.ts';
import { MTU_BYTES, RequesterFixture } from '../../../rig/fixtures/requester-fixture.ts';
import type { ScatterGatherList } from '../scatter-gather.ts';
import { requesterOf } from '../state/connected-states.ts';

const LATENCY_NS = 1000;
/** Path MTU code 1, as the peer has it. */
const MTU = 256;
const NEVER = Number.POSITIVE_INFINITY;

/** A QP with one message of `packets` packets, sent once. */
function start(packets: number, options: { dmaContexts?: number; timeout?: number } = {}) {
  const { dmaContexts = 64, timeout = 10 } = options;
  const peer = new PacketPeer({ fixture: { adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts } }, timeout });
  const { fixture } = peer;
  const post = (lengthBytes: number): void => {
    peer.qp.post({ sges: [fixture.sge(fixture.createBuffer(fixture.random.bytes(lengthBytes)))] });
  };
  post(packets * MTU);
  peer.settle();
  t.same(peer.takeRequests(), []);
  const first = peer.wait(4 * LATENCY_NS).take();
  t.equal(first.length, packets);
  const { resends } = peer.adapter.engine.connected;
  return { peer, fixture, post, first, resends, clock: fixture.machine.clock };
}

t.test('packets that a NAK asks for are sent one latency later, with the payload of that moment', async (t) => {
  const { clock, fixture, first, peer, resends } = start(4);
  peer.nak(1, NakCode.PSN_SEQUENCE_ERROR);
  t.same(peer.takeRequests(), []);
  t.equal(resends.nextNs, clock.now() + LATENCY_NS);
  t.ok(clock.alarmNs <= resends.nextNs, 'the adapter asks for a pass');
  t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), 1, 'the read occupies a context');
  clock.advance(LATENCY_NS - 1);
  t.same(peer.takeRequests(), []);
  clock.advance(1);
  const again = peer.take();
  t.same(
    again.map(({ psn }) => psn),
    first.slice(1).map(({ psn }) => psn),
  );
  t.same(
    again.map(({ payload }) => payload),
    first.slice(1).map(({ payload }) => payload),
  );
  t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), 0);
  t.equal(resends.nextNs, NEVER);
});

t.test('after an RNR wait the payload takes its latency too, and inline payload takes none', async (t) => {
  const { clock, fixture, peer } = start(2);
  peer.receiverNotReady(0, 1);
  clock.advance(rnrTimerNs(1));
  t.same(peer.takeRequests(), []);
  clock.advance(LATENCY_NS);
  t.equal(peer.take().length, 2);
  peer.acknowledge(1);
  peer.qp.post({ inline: fixture.random.bytes(20) });
  t.equal(peer.take().length, 1, 'no read');
  peer.nak(2, NakCode.PSN_SEQUENCE_ERROR);
  t.equal(peer.take().length, 1, 'and none for the repetition');
});

t.test('messages that are sent again keep their order, whatever the size of their reads', async (t) => {
  const { clock, peer, post } = start(40, { dmaContexts: 1 });
  post(10);
  peer.settle();
  clock.advance(LATENCY_NS);
  peer.take();
  peer.nak(0, NakCode.PSN_SEQUENCE_ERROR);
  const seen: number[][] = [];
  for (let latencies = 0; latencies < 5; latencies++) {
    clock.advance(LATENCY_NS);
    seen.push(peer.take().map(({ psn }) => psn - peer.firstPsn));
  }
  // Three requests of up to 4096 bytes for 40 packets, one for the other message; they take turns.
  const all = Array.from({ length: 41 }, (_, psn) => psn);
  t.same(seen.flat(), all);
  t.same(
    seen.findIndex((psns) => psns.includes(0)),
    3,
    'the first message waits for all its reads',
  );
});

t.test('a timeout that finds payload being read starts anew, and costs no retry', async (t) => {
  const { clock, peer, resends } = start(1, { timeout: 1 });
  const { device } = peer.fixture.machine;
  device.dmaTiming.latencyNs = 20 * ackTimeoutNs(1);
  peer.nak(0, NakCode.PSN_SEQUENCE_ERROR);
  const state = requesterOf(device.tables.queuePairs.get(peer.qp.qpn) as never);
  const left = state?.retriesLeft;
  const arrivalNs = resends.nextNs;
  peer.wait(15 * ackTimeoutNs(1));
  t.equal(device.engine.connected.completer.timeouts, 0);
  t.equal(state?.retriesLeft, left);
  clock.advance(arrivalNs - clock.now());
  t.equal(peer.take().length, 1);
  device.dmaTiming.latencyNs = LATENCY_NS;
  peer.wait(2 * ackTimeoutNs(1));
  t.ok(device.engine.connected.completer.timeouts > 0, 'the timer runs again');
});

t.test('a message that is acknowledged meanwhile ends; its read keeps the context until it arrives', async (t) => {
  const { clock, peer, post, resends } = start(1, { dmaContexts: 1 });
  peer.nak(0, NakCode.PSN_SEQUENCE_ERROR);
  t.equal(resends.contextsUsed, 1);
  peer.acknowledge(0);
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS],
  );
  t.equal(resends.contextsUsed, 1);
  post(10);
  peer.settle();
  clock.advance(LATENCY_NS);
  t.same(peer.takeRequests(), [], 'the next message waits for the context');
  clock.advance(LATENCY_NS);
  t.same(peer.takeRequests(), ['SEND_ONLY 1']);
  t.equal(resends.contextsUsed, 0);
});

t.test('a reset while payload is read again leaves no alarm and no packet', async (t) => {
  const { clock, fixture, peer, resends } = start(3);
  peer.nak(0, NakCode.PSN_SEQUENCE_ERROR);
  fixture.machine.reset(0, 'function');
  fixture.settle();
  t.equal(resends.nextNs, NEVER);
  clock.advance(LATENCY_NS);
  t.same(peer.takeRequests(), []);
  t.equal(resends.contextsUsed, 0);
});

t.test('without a latency, packets are sent again at once', async (t) => {
  const bench = new RequesterFixture();
  bench.add(SendOpcode.SEND, 3 * MTU_BYTES);
  bench.serve();
  bench.requester.rewind(bench.state, 101);
  for (let turn = 0; turn < 2; turn++) bench.serve();
  t.same(bench.psns, [100, 101, 102, 101, 102]);
  t.equal(bench.resends.busy, false);
});

t.test('only what was sent is read again, and once more when it is rewound further', async (t) => {
  const bench = new RequesterFixture();
  const counted: number[][] = [];
  const list = {
    check: () => FaultKind.NONE,
    gatherPart: () => true,
    countRequests: (from: number, length: number) => counted.push([from, length]),
  } as unknown as ScatterGatherList;
  bench.timing.latencyNs = LATENCY_NS;
  bench.room = 3;
  bench.add(SendOpcode.SEND, 5 * MTU_BYTES - 6, { list });
  bench.serve();
  bench.requester.rewind(bench.state, 102);
  bench.requester.rewind(bench.state, 101);
  t.same(counted, [
    [2 * MTU_BYTES, MTU_BYTES],
    [MTU_BYTES, MTU_BYTES],
  ]);
  bench.room = 99;
  bench.serve();
  t.equal(bench.sent.length, 3);
  t.equal(bench.state.reading, true);
  t.equal(bench.requester.defersTimeout(bench.state), true);
  bench.clock.nowNs += LATENCY_NS;
  bench.resends.land((state) => bench.requester.wake(state));
  for (let turn = 0; turn < 3; turn++) bench.serve();
  t.same(bench.psns, [100, 101, 102, 101, 102, 103, 104]);
  t.equal(bench.requester.defersTimeout(bench.state), false);
});
