// SPDX-License-Identifier: Apache-2.0
/**
 * Receive WQEs while reads of guest memory take time (IBTA 10.2.4, 10.2.9; US 8,484,392 par. 42):
 * a message arrives one latency after its packet, two when the tail must be read first; packets of
 * a QP keep their order, those of others overtake; resets and full stages lose nothing else.
 */
import t from 'tap';
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';
import { connect, rdma } from '../../../rig/fixtures/connected-fixture.ts';
import { PacketPeer, type PeerOptions } from '../../../rig/fixtures/packet-peer.ts';
import { HELD_PACKETS_MAX } from './receive-stage.ts';

const LATENCY_NS = 1000;
const NEVER = Number.POSITIVE_INFINITY;
const { RC_SEND_ONLY, RC_SEND_FIRST, RC_SEND_LAST, RC_RDMA_WRITE_ONLY, RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE } = BthOpcode;

/** A QP whose peer is the test, with so many receive WQEs of 512 bytes. */
function start(entries: number, options: PeerOptions = {}, dmaContexts = 64) {
  const peer = new PacketPeer({ fixture: { adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts } }, ...options });
  const { fixture } = peer;
  const buffers = Array.from({ length: entries }, () => fixture.createBuffer(512));
  for (const buffer of buffers) (peer.srq ?? peer.qp).postReceive([fixture.sge(buffer)]);
  const { stage } = peer.adapter.engine.receiver;
  const received = () => peer.qp.parts.receiveCq.drain().length;
  const { clock } = fixture.machine;
  /** Latencies until the next completion. */
  const wait = (): number => {
    for (let latencies = 0; latencies < 20; latencies++) {
      peer.settle();
      if (received() > 0) return latencies;
      clock.advance(LATENCY_NS);
    }
    return NEVER;
  };
  const bytes = (length: number): Uint8Array => fixture.random.bytes(length);
  return { peer, fixture, buffers, stage, received, clock, wait, bytes };
}

t.test('a message takes the read of the tail and of its WQE, the next one only that of its WQE', async (t) => {
  const { buffers, bytes, clock, fixture, peer, received, stage, wait } = start(2);
  const payload = bytes(100);
  peer.request(RC_SEND_ONLY, {}, payload);
  t.equal(stage.nextNs, clock.now() + LATENCY_NS);
  t.ok(clock.alarmNs <= stage.nextNs, 'the adapter asks for a pass');
  t.same([fixture.read(CSR.DMA_CONTEXTS_USED), stage.count, received()], [1, 1, 0]);
  t.equal(wait(), 2);
  t.same(buffers[0]?.bytes.slice(0, 100), payload);
  t.same(peer.takeAnswers(), ['ACK 500']);
  peer.request(RC_SEND_ONLY, {}, bytes(10));
  clock.advance(LATENCY_NS - 1);
  peer.settle();
  t.equal(received(), 0);
  clock.advance(1);
  peer.settle();
  t.equal(received(), 1);
  t.same([stage.count, stage.contextsUsed, stage.nextNs], [0, 0, NEVER]);
});

t.test('reads of a burst overlap, and its messages arrive in order', async (t) => {
  const { buffers, bytes, peer, received, stage, wait } = start(9);
  peer.request(RC_SEND_ONLY, {}, bytes(1));
  wait();
  const payloads = Array.from({ length: 8 }, () => bytes(20));
  for (const payload of payloads) peer.put(RC_SEND_ONLY, { psn: peer.psn++ }, payload);
  peer.settle();
  t.equal(stage.contextsUsed, 8);
  peer.wait(LATENCY_NS);
  t.equal(received(), 8);
  t.same(
    buffers.slice(1).map((buffer) => buffer.bytes.slice(0, 20)),
    payloads,
  );
});

t.test('packets behind a held one wait, also those that need no WQE; duplicates need none', async (t) => {
  const { bytes, clock, peer, stage, wait } = start(2, { pathMtu: 1 });
  const target = peer.remoteBuffer(300);
  const written = bytes(200);
  peer.put(RC_SEND_FIRST, { psn: 500 }, bytes(256));
  peer.put(RC_SEND_LAST, { psn: 501 }, bytes(100));
  peer.put(RC_RDMA_WRITE_ONLY, { psn: 502, ackRequest: 1, ...peer.target(target, 200) }, written);
  peer.settle();
  t.same([stage.count, stage.contextsUsed], [3, 1], 'only the first one needs a WQE');
  t.not(target.bytes.slice(0, 200).join(), written.join(), 'the WRITE waits');
  t.equal(wait(), 2);
  t.same(target.bytes.slice(0, 200), written);
  t.same(peer.takeAnswers(), ['ACK 502']);
  peer.put(RC_SEND_FIRST, { psn: 500 }, bytes(256));
  peer.put(RC_RDMA_WRITE_ONLY, { psn: 503, ackRequest: 1, ...peer.target(target, 200) }, written);
  t.same(peer.takeAnswers(), ['ACK 503'], 'at once');
  t.equal(stage.nextNs, NEVER);
  peer.psn = 504;
  peer.request(RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, { ...peer.target(target, 200), immediate: 7 }, written);
  t.equal(stage.count, 1, 'immediate data takes a WQE');
  t.equal(clock.alarmNs, clock.now() + LATENCY_NS);
  t.equal(wait(), 1);
});

t.test('without a posted WQE the sender is told after the read of the tail', async (t) => {
  const { bytes, clock, fixture, peer, wait } = start(0);
  peer.request(RC_SEND_ONLY, {}, bytes(10));
  t.same(peer.takeAnswers(), []);
  clock.advance(LATENCY_NS);
  t.same(peer.takeAnswers(), ['RNR 500']);
  peer.qp.postReceive([fixture.sge(fixture.createBuffer(100))]);
  peer.request(RC_SEND_ONLY, { psn: 500 }, bytes(10));
  t.equal(wait(), 2);
});

t.test('a WQE of a shared queue that went to another packet is looked for again', async (t) => {
  const { bytes, clock, fixture, peer, received, wait } = start(2, { shared: true });
  peer.request(RC_SEND_ONLY, {}, bytes(10));
  t.equal(wait(), 2, 'now one WQE is known');
  for (let count = 0; count < 2; count++) peer.put(RC_SEND_ONLY, { psn: peer.psn++ }, bytes(10));
  peer.settle();
  peer.srq?.postReceive([fixture.sge(fixture.createBuffer(100))]);
  clock.advance(LATENCY_NS);
  peer.settle();
  t.equal(received(), 1);
  t.equal(wait(), 2, 'the tail, and then the WQE');
});

t.test('QPs do not wait for each other, and take turns for contexts', async (t) => {
  const fixture = new AdapterFixture({ adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts: 1 } });
  const { device, clock } = fixture.machine;
  const [sends, writes] = [connect(fixture), connect(fixture)];
  const buffer = fixture.createBuffer(64);
  sends.b.postReceive([fixture.sge(buffer)]);
  sends.a.post({ inline: fixture.random.bytes(8) });
  fixture.settle();
  t.equal(device.engine.receiver.stage.count, 1);
  writes.a.post({
    ...rdma(fixture, SendOpcode.RDMA_WRITE, buffer, buffer, writes.region),
    inline: new Uint8Array(4),
    sges: [],
  });
  fixture.settle();
  t.equal(writes.a.parts.sendCq.drain().length, 1, 'a WRITE overtakes');
  t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), 1);
  for (let latencies = 0; latencies < 2; latencies++) {
    clock.advance(LATENCY_NS);
    fixture.settle();
  }
  t.same(
    sends.b.parts.receiveCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS],
  );
  fixture.finish();
});

t.test('a reset drops the packets that wait; their reads keep the contexts until they arrive', async (t) => {
  const { bytes, clock, peer, received, stage } = start(3);
  for (let count = 0; count < 3; count++) peer.put(RC_SEND_ONLY, { psn: peer.psn++ }, bytes(10));
  peer.settle();
  t.equal(stage.count, 3);
  peer.qp.toReset();
  peer.settle();
  t.same([stage.count, stage.nextNs], [0, NEVER]);
  t.ok(stage.contextsUsed > 0);
  clock.advance(LATENCY_NS);
  peer.settle();
  t.same([stage.contextsUsed, received()], [0, 0]);
});

t.test('a QP that fails meanwhile takes nothing: its WQEs are flushed', async (t) => {
  const { bytes, peer, stage } = start(2);
  peer.request(RC_SEND_ONLY, {}, bytes(10));
  peer.qp.toError();
  peer.wait(3 * LATENCY_NS);
  t.same(
    peer.qp.parts.receiveCq.drain().map(({ status }) => status),
    [CompletionStatus.FLUSHED, CompletionStatus.FLUSHED],
  );
  t.equal(stage.busy, false);
});

t.test('a full stage takes no packet; the port keeps them until there is room', async (t) => {
  const messages = HELD_PACKETS_MAX + 8;
  const { bytes, peer, received, stage } = start(messages, {
    serviceType: ServiceType.UC,
    receiveEntriesLog2: 9,
    completionEntriesLog2: 9,
  });
  for (let psn = 500; psn < 500 + messages; psn++) {
    peer.put(BthOpcode.UC_SEND_ONLY, { psn }, bytes(4));
    peer.settle();
  }
  t.equal(stage.count, HELD_PACKETS_MAX);
  peer.wait(messages * LATENCY_NS);
  t.equal(received(), messages, 'none is lost');
});

t.test('when the latency ends, packets that are held still come before later ones', async (t) => {
  const { buffers, bytes, clock, peer, received } = start(2);
  const payloads = [bytes(8), bytes(8)];
  peer.request(RC_SEND_ONLY, {}, payloads[0]);
  peer.adapter.dmaTiming.latencyNs = 0;
  peer.request(RC_SEND_ONLY, {}, payloads[1]);
  t.equal(received(), 0);
  clock.advance(LATENCY_NS);
  peer.settle();
  t.equal(received(), 2, 'the read of the WQE takes no time any more');
  t.same(
    buffers.map((buffer) => buffer.bytes.slice(0, 8)),
    payloads,
  );
});

t.test('datagrams wait for their WQEs too', async (t) => {
  const fixture = new AdapterFixture({ adapter: { dmaLatencyNs: LATENCY_NS } });
  const { clock, device } = fixture.machine;
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, 100);
  sender.post(to({ inline: fixture.random.bytes(8) }));
  fixture.settle();
  clock.advance(LATENCY_NS);
  fixture.settle();
  t.equal(device.engine.receiver.stage.count, 1);
  for (let latencies = 0; latencies < 2; latencies++) {
    clock.advance(LATENCY_NS);
    fixture.settle();
  }
  t.equal(receiver.parts.receiveCq.drain().length, 1);
});
