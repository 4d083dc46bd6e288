// SPDX-License-Identifier: Apache-2.0
/**
 * READ responses while reads of guest memory take time (IBTA 9.7.5.1.2): data arrives one latency
 * after its request, reads overlap, repeated answers read again, and dropped ones leave no alarm.
 */
import t from 'tap';
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';
import { connect, rdma } from '../../../rig/fixtures/connected-fixture.ts';
import { PacketPeer } from '../../../rig/fixtures/packet-peer.ts';

const LATENCY_NS = 1000;
const OPTIONS = { adapter: { dmaLatencyNs: LATENCY_NS } };
const NEVER = Number.POSITIVE_INFINITY;

t.test('the data of a READ response takes the latency, and that of the next READ overlaps it', async (t) => {
  const fixture = new AdapterFixture(OPTIONS);
  const { clock, device } = fixture.machine;
  const { reads } = device.engine.connected;
  const { a, region } = connect(fixture);
  const [local, remote] = [fixture.createBuffer(10_000), fixture.createBuffer(fixture.random.bytes(10_000))];
  for (let count = 0; count < 2; count++) a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
  fixture.settle();
  t.equal(reads.nextNs, clock.now() + LATENCY_NS);
  t.equal(reads.waiting, 1, 'one QP with two answers');
  t.ok(clock.alarmNs <= reads.nextNs, 'the adapter asks for a pass');
  clock.advance(LATENCY_NS - 1);
  fixture.settle();
  t.equal(a.parts.sendCq.drain().length, 0);
  clock.advance(1);
  fixture.settle();
  const statuses = a.parts.sendCq.drain().map(({ status }) => status);
  t.same(statuses, [CompletionStatus.SUCCESS, CompletionStatus.SUCCESS], 'both were read at the same time');
  t.same(local.bytes, remote.bytes);
  t.equal(reads.nextNs, NEVER);
  fixture.finish();
});

t.test('a repeated READ response reads again; one that is dropped by a reset leaves no alarm', async (t) => {
  const peer = new PacketPeer({ fixture: OPTIONS });
  const { fixture } = peer;
  const { clock, device } = fixture.machine;
  const { reads } = device.engine.connected;
  const source = peer.remoteBuffer(3000);
  const take = () => peer.take().length;
  peer.request(BthOpcode.RC_RDMA_READ_REQUEST, peer.target(source));
  t.equal(take(), 0);
  clock.advance(LATENCY_NS);
  const packets = take();
  t.ok(packets > 1, `${packets} packets`);
  for (let round = 0; round < 2; round++) {
    peer.request(BthOpcode.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn: 500 });
    t.equal(take(), 0, 'a duplicate');
    clock.advance(LATENCY_NS - 1);
    t.equal(take(), 0);
    clock.advance(1);
    t.equal(take(), packets);
  }
  peer.request(BthOpcode.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn: 500 });
  fixture.settle();
  t.equal(reads.nextNs, clock.now() + LATENCY_NS);
  fixture.machine.reset(0, 'function');
  fixture.settle();
  t.equal(reads.nextNs, NEVER);
});

t.test('an empty READ needs no data, and without a latency nothing waits', async (t) => {
  for (const [dmaLatencyNs, lengthBytes] of [
    [LATENCY_NS, 0],
    [0, 3000],
  ]) {
    const fixture = new AdapterFixture({ adapter: { dmaLatencyNs } });
    const { a, region } = connect(fixture);
    const buffer = fixture.createBuffer(3000);
    const sges = lengthBytes === 0 ? [] : [fixture.sge(buffer)];
    a.post({ opcode: SendOpcode.RDMA_READ, sges, remote: { address: buffer.address, rkey: region.rkey } });
    fixture.settle();
    const statuses = a.parts.sendCq.drain().map(({ status }) => status);
    t.same(statuses, [CompletionStatus.SUCCESS], `${lengthBytes} bytes, latency ${dmaLatencyNs}`);
    t.equal(fixture.machine.device.engine.connected.reads.nextNs, NEVER);
    fixture.finish();
  }
});

t.test('answers occupy DMA contexts and take turns for them with each other and with commands', async (t) => {
  const fixture = new AdapterFixture({ adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts: 2 } });
  const { clock, device } = fixture.machine;
  const [long, short, sends] = [connect(fixture), connect(fixture), connect(fixture)];
  const buffer = fixture.createBuffer(40_000);
  const read = ({ a, region }: typeof long, lengthBytes: number) =>
    a.post({
      opcode: SendOpcode.RDMA_READ,
      sges: [fixture.sge(buffer, 0, lengthBytes)],
      remote: { address: buffer.address, rkey: region.rkey },
    });
  const isDone = ({ a }: typeof long): boolean => a.parts.sendCq.drain().length > 0;
  read(long, 40_000);
  fixture.settle();
  t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), 2, 'two of its ten reads');
  read(short, 100);
  // A WRITE: it needs no read of a receive WQE.
  const remote = { address: buffer.address, rkey: sends.region.rkey };
  sends.a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(buffer, 0, 64)], remote });
  const ends: Record<string, number> = {};
  for (let latencies = 1; latencies <= 12; latencies++) {
    fixture.settle();
    t.ok(fixture.read(CSR.DMA_CONTEXTS_USED) <= 2, 'never more than there are');
    t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), device.dmaTiming.pool.used);
    clock.advance(LATENCY_NS);
    fixture.settle();
    for (const [name, one] of Object.entries({ long, short, sends })) if (isDone(one)) ends[name] = latencies;
  }
  // Twelve reads by two contexts take six latencies.
  t.equal(ends.long, 6);
  t.ok(
    (ends.short as number) <= 3 && (ends.sends as number) <= 3,
    `the others do not wait for all of it: ${JSON.stringify(ends)}`,
  );
  t.equal(device.dmaTiming.pool.used, 0);
  fixture.finish();
});

t.test('reads of a dropped answer keep their contexts until they arrive, and others get them then', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 1, adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts: 2 } });
  const { clock, device } = fixture.machine;
  const [dropped, kept] = [connect(fixture), connect(fixture)];
  const buffer = fixture.createBuffer(20_000);
  for (const { a, region } of [dropped, kept])
    a.post({
      opcode: SendOpcode.RDMA_READ,
      sges: [fixture.sge(buffer)],
      remote: { address: buffer.address, rkey: region.rkey },
    });
  fixture.settle();
  const { reads } = device.engine.connected;
  t.equal(reads.contextsUsed, 2);
  for (const qp of [dropped.a, dropped.b]) qp.toReset();
  fixture.settle();
  t.equal(reads.contextsUsed, 2, 'their completions will still arrive');
  t.equal(reads.nextNs, clock.now() + LATENCY_NS, 'another answer waits for a context');
  // Five reads of the answer that is left, two of which may be outstanding already.
  for (let latencies = 0; latencies < 4; latencies++) {
    clock.advance(LATENCY_NS);
    fixture.settle();
  }
  t.equal(kept.a.parts.sendCq.drain().length, 1);
  t.same([reads.contextsUsed, reads.nextNs], [0, NEVER]);
});
