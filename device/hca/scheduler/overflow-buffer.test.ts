// SPDX-License-Identifier: Apache-2.0
/**
 * The overflow buffer, the sweep and held writes alone (US 9,069,485 par. 28-29, 87, 91, 93;
 * docs/HAZARDS.md, hazards 38 and 39; docs/DOCUMENTS.md decision 5).
 */
import t from 'tap';
import { OVERFLOW_MAX_LOG2, OVERFLOW_MIN_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import { FunctionCounters } from '../function/function-counters.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { HELD_WRITES_MAX, HeldWrites } from './held-writes.ts';
import { OverflowBuffer } from './overflow-buffer.ts';
import { SendQueueSweep } from './send-queue-sweep.ts';

const BASE = 64;
const LOG2 = OVERFLOW_MIN_LOG2;
const ENTRIES = 2 ** LOG2;
const ENTRY_BYTES = 8;

class Fixture {
  readonly memory = new Uint8Array(512);
  isReachable = true;
  readonly ring: OverflowBuffer;

  constructor(isEnabled = true) {
    const dma = {
      address: 0,
      at(address: number) {
        this.address = address;
        return this;
      },
      read: (_subject: unknown, lengthBytes: number, target: Uint8Array, at: number) => {
        target.set(this.memory.subarray(dma.address, dma.address + lengthBytes), at);
        return this.isReachable;
      },
      write: (_subject: unknown, source: Uint8Array, at: number, lengthBytes: number) => {
        this.memory.set(source.subarray(at, at + lengthBytes), dma.address);
        return this.isReachable;
      },
    };
    this.ring = new OverflowBuffer(dma as unknown as Dma);
    if (isEnabled) this.ring.enable(BASE, LOG2);
  }

  makeQueuePair(number: number): QueuePair {
    return { number, owner: { number: 0 }, spilled: 0, spilledLap: 0 } as unknown as QueuePair;
  }
}

t.test('base and size of a ring have bounds', async (t) => {
  const top = Number.MAX_SAFE_INTEGER + 1;
  for (const [base, log2, wanted] of [
    [BASE, OVERFLOW_MIN_LOG2, true],
    [BASE, OVERFLOW_MAX_LOG2, true],
    [BASE, OVERFLOW_MIN_LOG2 - 1, false],
    [BASE, OVERFLOW_MAX_LOG2 + 1, false],
    [0, LOG2, false],
    [BASE + 8, LOG2, false],
    [-BASE, LOG2, false],
    [top - 2 ** LOG2 * ENTRY_BYTES, LOG2, false],
    [top - 2 ** LOG2 * ENTRY_BYTES - BASE, LOG2, true],
  ] as const) {
    const { ring } = new Fixture(false);
    t.notOk(ring.enabled, 'none before');
    t.same([ring.enable(base, log2), ring.enabled], [wanted, wanted], `${base}, ${log2}`);
    t.equal(ring.room, wanted ? 2 ** log2 : 0);
    t.equal(ring.full, !wanted);
  }
});

t.test('doorbells come back in order, around the end of the ring', async (t) => {
  const { ring, makeQueuePair } = new Fixture();
  const qps = [1, 2, 3].map(makeQueuePair);
  let [written, read] = [0, 0];
  for (let round = 0; round < 3 * ENTRIES; round++) {
    while (ring.room > round % 3) t.ok(ring.write(qps[written % 3], written++));
    t.equal(ring.pending, written - read);
    t.equal(ring.full, ring.room === 0);
    t.equal(ring.addressOf(0), BASE + (read % ENTRIES) * ENTRY_BYTES);
    t.equal(ring.addressOf(2), BASE + ((read + 2) % ENTRIES) * ENTRY_BYTES);
    t.equal(ring.fetch(), FaultKind.NONE);
    t.same([ring.qpn, ring.sequence], [qps[read % 3].number, read]);
    t.equal(ring.addressRead, BASE + (read % ENTRIES) * ENTRY_BYTES);
    t.ok(ring.settle(qps[read % 3]));
    read++;
  }
  t.same([ring.written, ring.read], [written, read]);
  ring.reset();
  t.same([ring.written, ring.read, ring.enabled, ring.addressRead], [0, 0, false, 0]);
});

t.test('entries of each queue pair are counted, until the ring is given up', async (t) => {
  const { ring, makeQueuePair } = new Fixture();
  const [one, two] = [makeQueuePair(1), makeQueuePair(2)];
  for (const qp of [one, two, one]) ring.write(qp, 0);
  t.same([ring.spilledOf(one), ring.spilledOf(two)], [2, 1]);
  t.ok(ring.settle(one));
  t.equal(ring.spilledOf(one), 1);
  t.ok(ring.settle(one));
  t.notOk(ring.settle(one), 'it has no entry left');
  ring.enable(BASE, LOG2);
  t.same([ring.spilledOf(two), ring.pending], [0, 0]);
  t.notOk(ring.settle(two));
  ring.write(two, 5);
  t.equal(ring.spilledOf(two), 1);
});

t.test('hazard 39: an entry that was changed is another doorbell, or none', async (t) => {
  for (let byte = 0; byte < ENTRY_BYTES; byte++) {
    const { ring, memory, makeQueuePair } = new Fixture();
    ring.write(makeQueuePair(0x123456), 0x7788);
    memory[BASE + byte] ^= 0x80;
    const isDoorbell = ring.fetch() === FaultKind.NONE;
    t.notOk(isDoorbell && ring.qpn === 0x123456 && ring.sequence === 0x7788, `byte ${byte}`);
  }
  const { ring, memory, makeQueuePair } = new Fixture();
  ring.write(makeQueuePair(1), 2);
  memory.fill(0xff, BASE, BASE + ENTRY_BYTES);
  t.equal(ring.fetch(), FaultKind.OVERFLOW_ENTRY);
});

t.test('hazard 39: an emptied ring must have returned every entry', async (t) => {
  const { ring, makeQueuePair } = new Fixture();
  const [one, two] = [makeQueuePair(1), makeQueuePair(2)];
  for (const qp of [one, two]) ring.write(qp, 0);
  for (let count = 0; count < 2; count++) ring.fetch();
  ring.settle(one);
  t.notOk(ring.checkEmptied(), 'that of the second one is missing');
  t.equal(ring.spilledOf(two), 0, 'the counts start anew');
  ring.write(one, 1);
  ring.fetch();
  ring.settle(one);
  t.ok(ring.checkEmptied());
  ring.write(one, 2);
  t.equal(ring.spilledOf(one), 1, 'a whole ring keeps its counts');
});

t.test('hazard 38: entries of destroyed queue pairs come back as orphans', async (t) => {
  const { ring, makeQueuePair } = new Fixture();
  const [gone, other] = [makeQueuePair(1), makeQueuePair(2)];
  for (const qp of [gone, gone, other]) ring.write(qp, 0);
  t.notOk(ring.settleOrphan(), 'none is destroyed');
  ring.orphan(gone);
  for (let count = 0; count < 3; count++) ring.fetch();
  t.ok(ring.settleOrphan());
  ring.settle(other);
  t.ok(ring.settleOrphan());
  t.notOk(ring.settleOrphan(), 'it had two');
  t.ok(ring.checkEmptied());
  ring.write(gone, 0);
  ring.orphan(gone);
  t.notOk(ring.checkEmptied(), 'an orphan is missing');
  const late = makeQueuePair(3);
  ring.write(late, 0);
  ring.orphan(late);
  t.notOk(ring.checkEmptied(), 'also when no other entry is');
});

t.test('memory that fails gives up the ring', async (t) => {
  const writing = new Fixture();
  writing.isReachable = false;
  t.notOk(writing.ring.write(writing.makeQueuePair(1), 0));
  t.notOk(writing.ring.enabled);
  const reading = new Fixture();
  const qp = reading.makeQueuePair(1);
  reading.ring.write(qp, 0);
  reading.isReachable = false;
  t.equal(reading.ring.fetch(), FaultKind.DMA_READ);
  t.same([reading.ring.enabled, reading.ring.pending, reading.ring.spilledOf(qp)], [false, 0, 0]);
});

t.test('a ring touches the memory of its entries', async (t) => {
  const { ring } = new Fixture();
  const end = BASE + ENTRIES * ENTRY_BYTES;
  for (const [address, lengthBytes, wanted] of [
    [BASE - 8, 8, false],
    [BASE - 8, 9, true],
    [end - 1, 1, true],
    [end, 8, false],
    [0, 1000, true],
  ] as const)
    t.equal(ring.touches(address, lengthBytes), wanted, `${lengthBytes} bytes from ${address} on`);
  ring.disable();
  t.notOk(ring.touches(BASE, 8));
});

/** A sweep over slots; numbers of the QPs for which it rings. */
function makeSweep(slots: readonly (Partial<QueuePair> | undefined)[]) {
  const owner = { number: 0, counters: new FunctionCounters(), timeline: undefined } as unknown as UnderlyingFunction;
  const qps = slots.map((fields, number) =>
    fields === undefined ? undefined : ({ number, owner, sendsAreTaken: true, ...fields } as QueuePair),
  );
  const table = { slotCount: qps.length, at: (slot: number) => qps[slot] } as ObjectTable<QueuePair>;
  const rung: number[] = [];
  let room = Number.POSITIVE_INFINITY;
  const unit = {
    insert: (qp: QueuePair) => {
      if (rung.length >= room) return false;
      rung.push(qp.number);
      return true;
    },
  };
  const sweep = new SendQueueSweep(owner, table);
  const advance = (): boolean => sweep.advance(unit);
  const setRoom = (count: number): void => {
    room = count;
  };
  const run = (): number => {
    let steps = 0;
    for (; sweep.running && steps < 1000 && advance(); steps++);
    return steps;
  };
  return { sweep, rung, run, advance, setRoom, counters: owner.counters };
}

t.test('a sweep rings for each queue of the function that may have commands', async (t) => {
  const { sweep, rung, run, counters } = makeSweep([
    {},
    undefined,
    { owner: { number: 1 } as UnderlyingFunction },
    { sendsAreTaken: false },
    { scheduled: true },
    { doorbellWaiting: true },
    { stopped: true },
    {},
  ]);
  sweep.start();
  run();
  t.same([rung, sweep.running, counters.sweeps], [[0, 7], false, 1]);
});

t.test('a sweep takes 64 slots or one doorbell per step, and goes on where it found no room', async (t) => {
  const empty = makeSweep(new Array(130).fill(undefined));
  empty.sweep.start();
  t.equal(empty.run(), 3);
  const { sweep, rung, run, advance, setRoom } = makeSweep([{}, {}, {}]);
  sweep.start();
  t.ok(advance());
  t.same(rung, [0]);
  setRoom(1);
  t.notOk(advance());
  t.ok(sweep.running);
  setRoom(9);
  run();
  t.same(rung, [0, 1, 2]);
});

t.test('a doorbell lost during a sweep makes another round; a reset ends it', async (t) => {
  const { sweep, rung, run, advance, counters } = makeSweep([{}, {}]);
  sweep.start();
  advance();
  sweep.start();
  run();
  t.same([rung, counters.sweeps, sweep.running], [[0, 1, 0, 1], 2, false]);
  sweep.start();
  advance();
  sweep.start();
  sweep.reset();
  t.notOk(sweep.running);
  sweep.start();
  run();
  t.same([rung.slice(5), counters.sweeps], [[0, 1], 4], 'one round from the first slot on');
});

t.test('held writes are delivered in order, each behind what arrived before it', async (t) => {
  const delivered: number[][] = [];
  const held = new HeldWrites((...write) => delivered.push(write));
  t.notOk(held.deliver(99), 'none is held');
  t.ok(held.hold(3, 8, 4, 11, 12));
  t.ok(held.hold(5, 16, 8, 13, 14));
  t.same([held.count, held.total], [2, 2]);
  t.notOk(held.deliver(2));
  t.ok(held.deliver(3));
  t.notOk(held.deliver(4));
  t.ok(held.deliver(5));
  t.same(delivered, [
    [8, 4, 11, 12],
    [16, 8, 13, 14],
  ]);
  t.notOk(held.deliver(99));
  let count = 0;
  while (count <= HELD_WRITES_MAX && held.hold(0, count, 1, count, 0)) count++;
  t.equal(count, HELD_WRITES_MAX, 'as many as there is room for');
  t.same([held.count, held.total], [HELD_WRITES_MAX, HELD_WRITES_MAX + 2]);
  delivered.length = 0;
  while (delivered.length < HELD_WRITES_MAX && held.deliver(0));
  t.ok(delivered.length === HELD_WRITES_MAX && delivered.every(([offset], index) => offset === index));
  held.hold(0, 1, 1, 1, 1);
  held.clear();
  t.same([held.count, held.total, held.deliver(9)], [0, 0, false]);
});
