// SPDX-License-Identifier: Apache-2.0
/**
 * The doorbell unit alone, one step at a time, with a scheduler and a fetcher that do nothing (US
 * 9,069,485 par. 67-75, 84-95): which doorbells are counted, merged, spilled and lost, when
 * spilling begins and ends, and which entries have link checks.
 */
import t from 'tap';
import { FaultKind, LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import {
  ENTRIES,
  DoorbellFixture as Fixture,
  MEMORY_BYTES,
  OVERFLOW_BASE,
  OVERFLOW_LOG2,
} from '../../rig/fixtures/doorbell-fixture.ts';
import { Inbound } from './inbound-queue.ts';

/** State of the link of a queue that is in no list. */
const NOT_QUEUED = 0xff;

t.test('a doorbell is stale when its number is half of all sequence numbers behind or more', async (t) => {
  const fixture = new Fixture();
  const [qp] = fixture.qps;
  qp.nextSequence = 0x10;
  const { counters } = fixture.owner;
  for (const [ahead, stale] of [
    [0, 0],
    [0x7fff, 0],
    [0x8000, 1],
    [0xffff, 2],
  ]) {
    fixture.unit.ring(qp, (0x10 + ahead) & 0xffff);
    t.equal(counters.doorbellsStale, stale, `${ahead} ahead`);
  }
  t.equal(fixture.unit.inbound.posted, 1, 'one that waits covers the others');
  t.equal(qp.doorbellWaiting, true);
});

t.test('a doorbell of a stopped QP is counted and has no effect', async (t) => {
  const fixture = new Fixture();
  fixture.unit.stop(fixture.qps[0]);
  fixture.ring(0, 1);
  t.equal(fixture.owner.counters.doorbellsIdle, 1);
  t.equal(fixture.unit.inbound.posted, 0);
  fixture.ring(1, 2);
  t.equal(fixture.owner.counters.doorbellsIdle, 1);
});

t.test('a doorbell that the bus cannot hold is lost; the sweep finds its queue', async (t) => {
  const fixture = new Fixture();
  fixture.ring(0, 9);
  t.equal(fixture.unit.inbound.posted, 2 * ENTRIES);
  t.equal(fixture.owner.counters.doorbellsLost, 1);
  t.ok(fixture.unit.sweeping);
  t.notOk(fixture.qps[8].doorbellWaiting);
  fixture.setOverflow();
  fixture.runAll();
  t.notOk(fixture.unit.sweeping);
  t.ok(fixture.scheduled.includes(8));
  t.same([...new Set(fixture.scheduled)].length, fixture.qps.length, 'the sweep rings for each queue');
});

t.test('the sweep leaves the last entries to doorbells, and waits while these are spilled', async (t) => {
  const fixture = new Fixture();
  fixture.unit.thresholds.set(2, 3);
  const inserted = fixture.qps.slice(0, 3).map((qp) => fixture.unit.insert(qp));
  t.same(inserted, [true, true, false], 'two free entries are the low threshold');
  t.same(fixture.entries, [0, 1]);
  t.same(
    fixture.qps.slice(0, 3).map(({ doorbellWaiting }) => Boolean(doorbellWaiting)),
    [true, true, false],
  );
  const spilling = new Fixture();
  spilling.unit.spilling = true;
  t.notOk(spilling.unit.insert(spilling.qps[0]), 'while doorbells are spilled');
});

t.test('without a policy a full buffer stalls the bus; that is counted once, until a check completes', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  const { counters } = fixture.owner;
  unit.policy = OverflowPolicy.OFF;
  unit.thresholds.set(3, 4);
  fixture.ring(0, 3);
  unit.advance(5);
  t.equal(unit.buffer.free, 1);
  t.notOk(unit.stalled, 'an entry is free');
  t.equal(counters.deadlocksDetected, 0, 'the low threshold is for spilling only');
  fixture.ring(3, 5);
  fixture.runAll();
  t.notOk(unit.stalled, 'completions are before the next doorbells');
  t.equal(fixture.scheduled.length, 5);
  fixture.ring(0, 8);
  fixture.runAll();
  t.ok(unit.stalled);
  t.same([unit.buffer.used, unit.inbound.posted, unit.inbound.reads], [ENTRIES, 4, ENTRIES]);
  t.equal(fixture.runAll(), 0, 'nothing moves');
  t.equal(counters.deadlocksDetected, 1);
  unit.policy = OverflowPolicy.NEWEST;
  t.notOk(unit.stalled, 'with a policy the next step spills');
  fixture.runAll();
  t.equal(counters.deadlocksDetected, 2);
  unit.policy = OverflowPolicy.OFF;
  fixture.ring(0, 8);
  fixture.runAll();
  t.equal(counters.deadlocksDetected, 3);
  unit.reset();
  t.notOk(unit.stalled);
  t.same(
    fixture.qps.map(({ doorbellWaiting }) => Boolean(doorbellWaiting)),
    fixture.qps.map(() => false),
    'a reset forgets the doorbells',
  );
  fixture.ring(4, 12);
  fixture.runAll();
  t.equal(counters.deadlocksDetected, 4);
});

t.test('spilling begins below the low threshold and ends at the high one (par. 92)', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  unit.thresholds.set(2, 3);
  fixture.ring(0, 5);
  unit.advance(6);
  t.same([unit.buffer.free, unit.spilling], [1, false], 'three doorbells and their checks');
  unit.advance(2);
  t.same([unit.spilling, unit.overflow.pending], [true, 2]);
  t.same(fixture.entries, [0, 1, 2]);
  unit.advance(1);
  t.same([unit.buffer.free, unit.spilling], [2, true], 'two are free');
  unit.advance(1);
  t.same([unit.buffer.free, unit.spilling, unit.overflow.pending], [3, true, 2]);
  unit.advance(1);
  t.same([unit.buffer.free, unit.spilling], [4, false]);
  fixture.runAll();
  t.same(fixture.scheduled, [0, 1, 2, 3, 4]);
  t.same([unit.overflow.pending, fixture.owner.counters.doorbellsDrained, fixture.owner.counters.sweeps], [0, 2, 0]);
});

t.test('spilled doorbells are read back only into entries that are free and not promised (par. 93)', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  unit.thresholds.set(1, 3);
  fixture.spill(0, 5);
  fixture.ring(5, 7);
  unit.advance(1);
  t.same([unit.buffer.free, unit.inbound.reads], [3, 0], 'doorbells of the bus come first');
  unit.advance(2);
  t.same([unit.buffer.free, unit.inbound.reads], [2, 1]);
  unit.advance(1);
  t.same([unit.buffer.free, unit.inbound.reads], [2, 2], 'fewer than `high` are free: no entry is read');
  for (let steps = 0; steps < 100 && unit.advance(1) > 0; steps++) t.ok(unit.buffer.used <= ENTRIES, `step ${steps}`);
  t.same([...fixture.scheduled].sort(), [0, 1, 2, 3, 4, 5, 6]);
  t.equal(fixture.owner.counters.doorbellsLost, 0);
  const other = new Fixture();
  other.setOverflow();
  other.unit.thresholds.set(1, 3);
  other.spill(0, 5);
  other.unit.advance(1);
  t.equal(other.unit.inbound.reads, 1);
  other.runAll();
  t.same(other.scheduled, [0, 1, 2, 3, 4], 'oldest first');
});

t.test(
  'reads that are exhausted without a free buffer are a potential deadlock, until no doorbell waits',
  async (t) => {
    const fixture = new Fixture(1);
    const { unit } = fixture;
    fixture.setOverflow();
    fixture.hasBuffer = false;
    fixture.ring(0, 3);
    unit.advance(3);
    t.same([unit.spilling, unit.buffer.free, unit.overflow.pending], [true, 3, 1], 'while entries are free');
    unit.advance(1);
    t.same([unit.spilling, unit.overflow.pending], [true, 2], 'the next one is spilled, too');
    unit.advance(1);
    t.notOk(unit.spilling, 'the completion is at the head of the bus');
    fixture.runAll();
    t.same(fixture.scheduled, [0, 1, 2]);
    const other = new Fixture(1);
    other.setOverflow();
    other.ring(0, 3);
    other.runAll();
    t.equal(other.owner.counters.deadlocksDetected, 0, 'a free buffer can take the completion of a command');
  },
);

t.test('a doorbell on the bus ends with its QP', async (t) => {
  const fixture = new Fixture();
  fixture.ring(0, 3);
  Object.assign(fixture.qps[0], { destroyed: true });
  fixture.unit.stop(fixture.qps[1]);
  fixture.runAll();
  t.same(fixture.scheduled, [2]);
  t.same(
    fixture.qps.slice(0, 3).map(({ doorbellWaiting }) => doorbellWaiting),
    [false, false, false],
  );
});

t.test('a doorbell on the bus whose QP is gone is not spilled', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  unit.thresholds.set(1, ENTRIES);
  fixture.ring(3, 4);
  unit.advance(1);
  fixture.ring(0, 3);
  for (const qp of fixture.qps.slice(1, 3)) Object.assign(qp, { destroyed: true });
  unit.spilling = true;
  // The link check of the entry in the buffer is issued, and three doorbells are taken.
  unit.advance(4);
  t.same([unit.spilling, unit.inbound.posted, unit.overflow.written], [true, 0, 1]);
  fixture.runAll();
  t.same([fixture.scheduled, fixture.owner.counters.sweeps], [[3, 0], 0], 'nor missed');
});

t.test('a link check links the queue, unless it is linked, begins at once, or cannot send (par. 71-72)', async (t) => {
  for (const [state, linkChecks, scheduled] of [
    [{}, 1, [0]],
    [{ scheduled: true }, 1, []],
    [{ destroyed: true }, 0, []],
    [{ stopped: true }, 0, []],
    [{ sendsAreTaken: false }, 0, []],
  ] as const) {
    const fixture = new Fixture();
    const name = JSON.stringify(state);
    fixture.ring(0, 1);
    fixture.unit.advance(2);
    Object.assign(fixture.qps[0], state);
    fixture.unit.descriptors.publish(fixture.qps[0]);
    fixture.runAll();
    t.equal(fixture.owner.counters.linkChecks, linkChecks, name);
    t.same(fixture.scheduled, scheduled, name);
    t.equal(fixture.owner.counters.linkChecksFailed, 'scheduled' in state ? 1 : 0, name);
    t.equal(fixture.qps[0].doorbellWaiting, false, name);
    t.same(fixture.failed, [], name);
    t.equal(fixture.qps[0].stopShown ?? false, 'stopped' in state, name);
  }
});

t.test('a compare-and-swap marks the queue as linked; a queue that begins at once is unmarked', async (t) => {
  for (const linkCheck of [LinkCheck.READ, LinkCheck.COMPARE_SWAP])
    for (const mayBegin of [false, true]) {
      const fixture = new Fixture();
      fixture.unit.linkCheck = linkCheck;
      fixture.mayBegin = mayBegin;
      const { bytesWritten } = fixture.owner.dma;
      fixture.ring(0, 1);
      fixture.runAll();
      t.same([fixture.begun, fixture.scheduled], mayBegin ? [[0], []] : [[], [0]]);
      const isMarked = linkCheck === LinkCheck.COMPARE_SWAP && !mayBegin;
      t.equal(fixture.linkState(0), isMarked ? 0 : NOT_QUEUED);
      if (linkCheck === LinkCheck.READ) t.equal(fixture.owner.dma.bytesWritten, bytesWritten, 'a read writes nothing');
    }
});

t.test('a descriptor that cannot be read fails its QP', async (t) => {
  const fixture = new Fixture();
  Object.assign(fixture.qps[0], { descriptorAddress: MEMORY_BYTES });
  fixture.ring(0, 2);
  fixture.runAll();
  t.same(fixture.failed, [FaultKind.DMA_READ]);
  t.same(fixture.scheduled, [1]);
});

t.test('hazard 15: a stop shows a linked queue until its reads have completed, and acts once', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.ring(0, 1);
  unit.advance(2);
  t.equal(fixture.qps[0].busReads, 1);
  unit.stop(fixture.qps[0]);
  t.equal(fixture.linkState(0), 0);
  unit.stop(fixture.qps[0]);
  t.same(fixture.unscheduled, [0]);
  fixture.runAll();
  t.equal(fixture.linkState(0), NOT_QUEUED);
  unit.stop(fixture.qps[1]);
  t.equal(fixture.linkState(1), NOT_QUEUED);
  t.ok(fixture.qps[1].stopShown);
});

t.test('an overflow buffer that is removed or unmapped gives its doorbells to the sweep', async (t) => {
  for (const [what, sweeps] of [
    ['removed', 1],
    ['unmapped', 1],
    ['unmapped elsewhere', 0],
  ] as const) {
    const fixture = new Fixture();
    const { unit } = fixture;
    fixture.setOverflow();
    fixture.spill(0, 3);
    if (what === 'removed') t.notOk(unit.setOverflow(0, 0, false));
    else unit.memoryUnmapped(what === 'unmapped' ? OVERFLOW_BASE : 0, 8);
    t.equal(unit.overflow.enabled, sweeps === 0, what);
    t.equal(fixture.owner.counters.sweeps, sweeps, what);
    fixture.runAll();
    t.same([...new Set(fixture.scheduled)].length, sweeps === 0 ? 3 : fixture.qps.length, what);
    unit.setOverflow(OVERFLOW_BASE, OVERFLOW_LOG2, true);
    t.equal(fixture.owner.counters.sweeps, sweeps, 'an empty one loses nothing');
  }
});

t.test('an overflow buffer removed while an entry is read back costs nothing but the sweep', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  fixture.spill(0, 2);
  unit.advance(1);
  t.equal(unit.inbound.kind, Inbound.OVERFLOW_ENTRY);
  unit.setOverflow(0, 0, false);
  fixture.runAll();
  t.equal(fixture.owner.counters.sweeps, 1);
  t.equal(fixture.owner.faults.counts[FaultKind.OVERFLOW_ENTRY], 0);
  fixture.setOverflow();
  fixture.spill(0, 2);
  fixture.memory.fill(0xff, OVERFLOW_BASE);
  fixture.runAll();
  t.equal(fixture.owner.counters.sweeps, 2, 'entries that do not come back as they were written');
  t.equal(fixture.owner.faults.counts[FaultKind.OVERFLOW_ENTRY], 2);
});

t.test('entries are promised to reads of spilled doorbells while these are outstanding', async (t) => {
  const fixture = new Fixture(8, 12, 100);
  const { unit } = fixture;
  fixture.setOverflow();
  unit.thresholds.set(1, 3);
  fixture.spill(0, 5);
  fixture.runAll();
  t.equal(unit.inbound.reads, 2, 'then fewer than three entries are free');
});

t.test('a link check of a doorbell that was spilled meanwhile links no queue', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  unit.spillBuffered = true;
  unit.thresholds.set(2, ENTRIES);
  fixture.ring(0, 5);
  unit.advance(8);
  t.same([unit.spilling, fixture.entries], [true, [0]], 'those with and without a link check were spilled');
  t.equal(unit.inbound.reads, 3);
  fixture.runAll();
  t.same(fixture.scheduled, [0, 1, 2, 3, 4]);
  t.equal(fixture.owner.counters.linkChecks, 5);
});

t.test('writes to the collect BAR keep their place among doorbells', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.ring(0, 2);
  unit.held.hold(unit.inbound.arrived, 8, 8, 0, 0);
  unit.advance(2);
  t.same(fixture.delivered, []);
  unit.advance(2);
  t.same([fixture.delivered, unit.inbound.taken], [[8], 2]);
});

t.test('a doorbell that is read back joins one that waits, and ends with a stopped or destroyed QP', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  fixture.spill(0, 4);
  fixture.qps[0].doorbellWaiting = true;
  fixture.qps[1].stopped = true;
  Object.assign(fixture.qps[2], { owner: { number: 1 } });
  unit.overflow.orphan(fixture.qps[2]);
  fixture.runAll();
  t.same(fixture.scheduled, [3]);
  t.equal(fixture.owner.counters.doorbellsStale, 1, 'the number of the destroyed one belongs to another function');
  t.same([unit.overflow.pending, fixture.owner.counters.sweeps], [0, 0]);
  t.equal(fixture.owner.faults.counts[FaultKind.OVERFLOW_ENTRY], 0);
  fixture.spill(4, 5);
  unit.advance(2);
  t.ok(fixture.qps[4].doorbellWaiting, 'in the scheduler buffer again');
});

t.test('nothing is spilled, adapted or swept at power-on', async (t) => {
  const { unit } = new Fixture();
  const off = { adaptive: false, spillBuffered: false, spillCommands: false, spilling: false, active: false };
  t.match(unit, { ...off, policy: OverflowPolicy.NEWEST, linkCheck: LinkCheck.READ });
  t.notOk(unit.overflow.enabled || unit.sweeping || unit.stalled || unit.spilled.hostQueue);
});

t.test('a reset drops everything that waits', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  unit.thresholds.set(1, 2);
  fixture.ring(0, 8);
  unit.advance(9);
  unit.lists[0].push(fixture.qps[9]);
  unit.lists[0].push(fixture.qps[10]);
  unit.lose();
  t.ok(unit.spilling && unit.sweeping && unit.buffer.used > 0 && unit.inbound.length > 0);
  unit.reset();
  t.same(
    [unit.spilling, unit.sweeping, unit.buffer.used, unit.inbound.length, unit.overflow.enabled, unit.held.count],
    [false, false, 0, 0, false, 0],
  );
  t.equal(unit.lists[0].head, undefined);
  for (const qp of fixture.qps.slice(9, 11)) t.same([qp.scheduled, qp.nextScheduled], [false, undefined]);
  t.equal(fixture.runAll(), 0);
});

t.test('entries promised to reads that a reset drops are free again', async (t) => {
  const fixture = new Fixture(8, 12, 100);
  const { unit } = fixture;
  unit.thresholds.set(1, 2);
  for (let round = 0; round < 3; round++) {
    fixture.setOverflow();
    fixture.spill(0, 5);
    fixture.runAll();
    t.equal(unit.inbound.reads, 3, `round ${round}: all but the last entry are promised`);
    unit.reset();
    fixture.ring(5, 8);
    fixture.runAll();
    t.same([unit.spilling, unit.overflow.written, unit.buffer.used], [false, 0, 3], `round ${round}: none is spilled`);
    unit.reset();
  }
});
