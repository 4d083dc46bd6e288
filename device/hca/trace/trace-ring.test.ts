// SPDX-License-Identifier: Apache-2.0
/**
 * The ring of command blocks and the traces of a function alone (IPCOM000010133D par. 1, 4;
 * docs/DOCUMENTS.md decision 10): the blocks and packets that are kept, their memory, and the owner
 * of a trace.
 */
import t from 'tap';
import { TRACE_PACKET_SIZE } from '../../../protocol/layout/gen/trace-packet.gen.ts';
import { CompletionStatus, FaultKind, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { QueuePairTrace } from './queue-pair-trace.ts';
import { Field, TraceRing } from './trace-ring.ts';
import type { TracedQueuePair } from './traced.ts';
import { TRACE_BYTES_PER_FUNCTION, Traces } from './traces.ts';

const HEADERS_BYTES = 24;
const LARGEST_FIRST_HEADERS = 96;
const LARGEST_HEADERS = 72;

/** A packet source whose bytes all differ from their neighbours. */
const source = new PacketRing(1);
for (let index = 0; index < source.bytes.length; index++) source.bytes[index] = index * 7 + (index >>> 8);

class Bench {
  nowNs = 0;
  readonly ring: TraceRing;

  constructor(blocksLog2 = 2, snapLength = 1024) {
    this.ring = new TraceRing(blocksLog2, snapLength, { now: () => this.nowNs });
  }

  open(payload = 0, headers = HEADERS_BYTES, packets = 1): number {
    return this.ring.openWithPacket(this.nowNs, this.nowNs, packets, source, 0, headers, payload);
  }

  keep(index: number, done: number, payload: number, headers = HEADERS_BYTES): void {
    this.ring.keep(this.ring.slotOf(index), done, source, 0, headers, payload);
  }

  get(index: number, field: number): number {
    return this.ring.words[this.ring.slotOf(index) + field];
  }
}

const CLEARED = [Field.COMPLETE, Field.STATUS, Field.FAULT, Field.RETRIES];
const COUNTS = [Field.PACKETS, Field.KEPT, Field.PACKETS_KEPT, Field.PACKET_BYTES];

t.test('hazard 40: the oldest block goes first, and is lost unless it was read', async (t) => {
  const bench = new Bench();
  const { ring } = bench;
  for (let count = 0; count < 4; count++) ring.open(0);
  t.same([ring.head, ring.tail, ring.lost], [4, 0, 0]);
  bench.open();
  t.same([ring.head, ring.tail, ring.lost], [5, 1, 1]);
  ring.noteRead(3);
  ring.noteRead(2);
  ring.open(0);
  bench.open();
  t.equal(ring.lost, 1, 'blocks 1 and 2 were read');
  ring.open(0);
  bench.open();
  t.equal(ring.lost, 3);
  t.same(
    [-1, 4, 5, 8].map((index) => ring.has(index)),
    [false, false, true, true],
  );
});

t.test('a block in the place of another one has nothing of it', async (t) => {
  for (const withPacket of [false, true]) {
    const bench = new Bench(0);
    const { ring } = bench;
    const old = bench.open(100);
    for (const field of [...CLEARED, ...COUNTS]) ring.words[ring.slotOf(old) + field] = 77;
    bench.nowNs = 50;
    const index = withPacket ? bench.open(8) : ring.open(50);
    for (const field of CLEARED) t.equal(bench.get(index, field), 0, `field ${field}`);
    t.same(
      COUNTS.map((field) => bench.get(index, field)),
      withPacket ? [1, 8, 1, TRACE_PACKET_SIZE + HEADERS_BYTES + 8] : [0, 0, 0, 0],
    );
    t.equal(ring.beginNs(index), 50);
    t.notOk(ring.isComplete(index));
    ring.end(index, CompletionStatus.FLUSHED, FaultKind.KEY_BOUNDS);
    t.ok(ring.isComplete(index));
    t.same(
      [bench.get(index, Field.STATUS), bench.get(index, Field.FAULT)],
      [CompletionStatus.FLUSHED, FaultKind.KEY_BOUNDS],
    );
  }
});

t.test('packets are kept in order, once, and as far as the snap length', async (t) => {
  const bench = new Bench(2, 500);
  const index = bench.open(256);
  bench.keep(index, 0, 256);
  bench.keep(index, 512, 256);
  t.equal(bench.get(index, Field.PACKETS_KEPT), 1, 'neither a repeated one nor one behind a gap');
  bench.nowNs = 30;
  bench.keep(index, 256, 256);
  t.same([bench.get(index, Field.PACKETS_KEPT), bench.get(index, Field.KEPT)], [2, 500]);
  t.equal(bench.ring.endNs(index), 30);
  bench.keep(index, 500, 20);
  t.equal(bench.get(index, Field.PACKETS_KEPT), 2, 'no room for payload');
  bench.keep(index, 500, 0);
  t.equal(bench.get(index, Field.PACKETS_KEPT), 3, 'a packet without payload needs none');
  const headersOnly = new Bench(2, 0);
  const read = headersOnly.open();
  headersOnly.keep(read, 0, 256);
  t.same([headersOnly.get(read, Field.PACKETS_KEPT), headersOnly.get(read, Field.KEPT)], [2, 0], 'request and answer');
});

t.test('the padding behind a kept packet is zero, whatever was behind it and in its place', async (t) => {
  const lengths = [...Array.from({ length: 17 }, (_, payload) => payload), 231, 232, 233, 300, 301, 900];
  for (const payload of lengths) {
    const bench = new Bench(0);
    bench.open(1000);
    const index = bench.open(payload);
    bench.keep(index, payload, 3);
    const packets = bench.ring.packetsOf(index);
    const first = TRACE_PACKET_SIZE + HEADERS_BYTES + payload;
    const second = ((first + 7) & -8) + TRACE_PACKET_SIZE + HEADERS_BYTES + 3;
    for (const end of [first, second])
      t.same(packets.slice(end, (end + 7) & -8), new Uint8Array(-end & 7), `${payload} bytes`);
  }
});

t.test('a kept packet has its headers and its payload, short or long', async (t) => {
  for (const payload of [0, 1, 200, 232, 233, 300, 900]) {
    const bench = new Bench();
    const index = bench.open(payload);
    const at = TRACE_PACKET_SIZE;
    const kept = bench.ring.packetsOf(index).slice(at, at + HEADERS_BYTES + payload);
    t.same(kept, source.bytes.slice(0, HEADERS_BYTES + payload), `${payload} bytes`);
  }
});

t.test('a slot holds all packets of a message of the snap length, with the largest headers', async (t) => {
  for (const snapLength of [0, 1024, 4096]) {
    const bench = new Bench(1, snapLength);
    const next = bench.open();
    const wanted = bench.ring.packetsOf(next).slice();
    const index = bench.open(0, LARGEST_FIRST_HEADERS);
    const lengths = snapLength === 0 ? [0, 0] : [1, ...new Array<number>(snapLength / 256 - 1).fill(256), 255, 0];
    let done = 0;
    for (const length of lengths) {
      bench.keep(index, done, length, LARGEST_HEADERS);
      done += length;
    }
    t.equal(bench.get(index, Field.PACKETS_KEPT), lengths.length + 1, `snap length ${snapLength}`);
    for (let more = 0; more < 10; more++) bench.keep(index, done, 0, LARGEST_HEADERS);
    t.ok(bench.get(index, Field.PACKETS_KEPT) < lengths.length + 4, 'there is an end');
    t.ok(
      bench.get(index, Field.PACKET_BYTES) <= TraceRing.sizeBytes(1, snapLength) / 2 - 88,
      'all of it is in the slot',
    );
    t.same(bench.ring.packetsOf(next), wanted, 'the block beside it is whole');
  }
});

t.test('a message ends with its last packet when that one was kept, else now', async (t) => {
  for (const [packets, kept, endNs] of [
    [1, 1, 20],
    [2, 1, 60],
    [0, 1, 20],
  ]) {
    const bench = new Bench();
    bench.nowNs = 20;
    const index = bench.open(8, HEADERS_BYTES, packets);
    t.equal(bench.get(index, Field.PACKETS_KEPT), kept);
    bench.nowNs = 60;
    bench.ring.endWithPacket(index, CompletionStatus.SUCCESS, FaultKind.KEY_STATE);
    t.equal(bench.ring.endNs(index), endNs, `${packets} packets`);
    t.ok(bench.ring.isComplete(index));
    t.equal(bench.get(index, Field.FAULT), FaultKind.KEY_STATE);
  }
  const bench = new Bench();
  const index = bench.ring.open(0);
  bench.nowNs = 60;
  bench.ring.endWithPacket(index, CompletionStatus.SUCCESS, FaultKind.NONE);
  t.equal(bench.ring.endNs(index), 60, 'without any packet');
});

const clock = { now: () => 0, setAlarm: () => {} };

function makeQueuePair(): TracedQueuePair & { trace: QueuePairTrace | undefined } {
  const attributes = { port: 1, remoteQpn: 2 };
  const owner = { timeline: undefined, number: 0, postAsynchronous: () => {} };
  const qp = {
    number: 1,
    tokenLow: 0,
    tokenHigh: 0,
    serviceType: ServiceType.RC,
    attributes,
    pathMtuBytes: 256,
    owner,
  };
  return { ...qp, trace: undefined };
}

const settings = { blocksLog2: 2, snapLength: 64, stopOnError: false, byGuest: true };

t.test('the host observes a QP unless the guest traces it; the trace of the guest takes its place', async (t) => {
  const traces = new Traces(clock, 1);
  const qp = makeQueuePair();
  const ended: string[] = [];
  const first = traces.observe(qp, settings, clock, () => ended.push('first'));
  t.match(first?.settings, { hidden: true, byGuest: false, blocksLog2: 2 });
  t.equal(qp.trace, first);
  t.equal(traces.getUsed(0), 0, "the memory is the host's");
  const second = traces.observe(qp, settings, clock, () => ended.push('second'));
  t.same([ended, qp.trace === second], [['first'], true]);
  t.ok(traces.enable(qp, settings));
  t.same(ended, ['first', 'second']);
  t.equal(traces.getUsed(0), TraceRing.sizeBytes(2, 64));
  t.equal(
    traces.observe(qp, settings, clock, () => {}),
    undefined,
  );
  traces.disable(qp);
  t.same([qp.trace, traces.getUsed(0)], [undefined, 0]);
});

t.test('the memory of a function for traces has a limit; a new trace of a QP replaces the old one', async (t) => {
  const traces = new Traces(clock, 2);
  const large = { ...settings, blocksLog2: 12, snapLength: 4096 };
  const size = TraceRing.sizeBytes(large.blocksLog2, large.snapLength);
  const count = Math.floor(TRACE_BYTES_PER_FUNCTION / size);
  const qps = Array.from({ length: count + 1 }, makeQueuePair);
  t.same(
    qps.map((qp) => traces.enable(qp, large)),
    qps.map((_, index) => index < count),
  );
  t.ok(traces.enable(qps[0], large), 'in place of its own');
  t.equal(traces.getUsed(0), count * size);
});

t.test('a reader goes on at the first block that has not ended', async (t) => {
  const traces = new Traces(clock, 1);
  const qp = makeQueuePair();
  traces.enable(qp, settings);
  const { ring } = qp.trace as QueuePairTrace;
  for (let count = 0; count < 3; count++) ring.open(0);
  const end = (index: number): void => ring.end(index, CompletionStatus.SUCCESS, FaultKind.NONE);
  const read = (position: number, limit = 9) => traces.read(qp.trace as QueuePairTrace, position, () => limit-- > 0);
  t.same(read(0), { count: 3, next: 0 });
  end(0);
  end(2);
  t.same(read(0), { count: 3, next: 1 });
  end(1);
  t.same(read(0), { count: 3, next: 3 });
  t.same(read(0, 2), { count: 2, next: 2 });
  t.same(read(2), { count: 1, next: 3 });
  t.same(read(99), { count: 0, next: 3 });
});
