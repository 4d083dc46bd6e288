// SPDX-License-Identifier: Apache-2.0
/**
 * Which doorbells and commands are spilled after the detection (US 9,069,485 par. 86-92): newest by
 * arrival and by place, most spilled, commands with a PCB; how many, by the thresholds; and the
 * adaptive threshold under load. Reads take time, so entries wait for their link checks.
 */
import t from 'tap';
import { getDoorbellQpn } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  CSR,
  getCsrDoorbellThresholdsLow,
  getCsrOverflowStatusSpilling,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { BUFFER_ENTRIES, DoorbellFlood, type FloodOptions } from '../../rig/fixtures/doorbell-flood.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { DoorbellBuffer } from './doorbell-buffer.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';
import { SpilledDoorbells } from './spilled-doorbells.ts';

const LATENCY_NS = 2000;

function makeFlood(options: FloodOptions, low: number, high: number): DoorbellFlood {
  const flood = new DoorbellFlood({ ...options, adapter: { dmaLatencyNs: LATENCY_NS, ...options.adapter } });
  flood.fixture.settle();
  flood.setThresholds(low, high);
  return flood;
}

/** Places in `flood.qps` of the QPs in the overflow buffer, the oldest entry first. */
function spilled(flood: DoorbellFlood): number[] {
  const count = flood.read(CSR.OVERFLOW_WRITTEN);
  const ring = flood.fixture.access.view(flood.fixture.driver.overflowAddress, 8 * Math.max(count, 1));
  return Array.from({ length: count }, (_, index) =>
    flood.qps.findIndex(({ qpn }) => qpn === getDoorbellQpn(ring, 8 * index)),
  );
}

function post(flood: DoorbellFlood, places: readonly number[]): void {
  for (const place of places) flood.post(flood.qps[place]);
  flood.fixture.settle();
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

t.test('newest by arrival: all that arrive after the detection, until `high` entries are free', async (t) => {
  const flood = makeFlood({}, 2, 5);
  post(flood, range(0, 12));
  t.same(spilled(flood), [7, 8, 9, 10, 11], 'seven have entries, then one is free: fewer than two');
  t.equal(getCsrOverflowStatusSpilling(flood.read(CSR.OVERFLOW_STATUS)), 1);
  t.equal(flood.finish(), undefined);
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 1);
});

t.test('newest by place: the last of the scheduler buffer, as many as `high` wants, and the arrival', async (t) => {
  for (const high of [3, 5, BUFFER_ENTRIES]) {
    const flood = makeFlood({ spillBuffered: true }, 2, high);
    post(flood, range(0, 8));
    const kept = Math.max(1, BUFFER_ENTRIES - high);
    t.same(spilled(flood), range(kept, 8), `high ${high}: link checks of ${kept} remain`);
    t.equal(flood.read(CSR.DOORBELL_BUFFER_USED), kept);
    t.equal(flood.read(CSR.BUS_READS) >= 7, true, 'the link checks of spilled doorbells are outstanding');
    t.equal(flood.finish(), undefined, 'and link no other queue');
    t.equal(flood.read(CSR.DOORBELLS_DRAINED), 8 - kept);
    t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  }
});

t.test('newest by place: a second episode spills what arrived meanwhile', async (t) => {
  const flood = makeFlood({ spillBuffered: true }, 2, 5);
  post(flood, range(0, 13));
  t.same(spilled(flood), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 'the three oldest keep their entries');
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 2);
  t.equal(flood.finish(), undefined);
});

/** The parts of a scheduler buffer with five entries; `room` in the overflow buffer. */
function makeSpilled(counts: readonly number[], room: number, failAt = -1) {
  const buffer = new DoorbellBuffer(5);
  const qps = counts.map((_, number) => ({ number, doorbellWaiting: true }) as QueuePair);
  for (const qp of qps) buffer.push(qp, 0);
  const written: number[] = [];
  const overflow = {
    enabled: true,
    full: false,
    room,
    spilledOf: ({ number }: QueuePair) => counts[number] ?? 0,
    write: ({ number }: QueuePair) => written.length !== failAt && written.push(number) > 0,
  } as unknown as OverflowBuffer;
  const owner = { counters: { doorbellsSpilled: 0 } } as unknown as UnderlyingFunction;
  const unit = new SpilledDoorbells(owner, {} as ObjectTable<QueuePair>, buffer, overflow);
  return { buffer, qps, written, unit };
}

t.test('most spilled: queue pairs with most entries in the overflow buffer, then the newest', async (t) => {
  const [NEWEST, MOST_SPILLED] = [OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED];
  for (const [policy, counts, count, room, expected] of [
    [MOST_SPILLED, [9, 0, 2, 1, 0], 3, 9, [2, 3, 4]],
    [MOST_SPILLED, [0, 0, 0, 0, 0], 2, 9, [3, 4]],
    [NEWEST, [9, 0, 2, 1, 0], 3, 9, [2, 3, 4]],
    [NEWEST, [9, 0, 9, 9, 0], 2, 9, [3, 4]],
    [NEWEST, [0, 0, 0, 0, 0], 9, 9, [1, 2, 3, 4]],
    [NEWEST, [0, 0, 0, 0, 0], 9, 2, [3, 4]],
    [NEWEST, [0, 0, 0, 0, 0], 0, 9, []],
    [MOST_SPILLED, [1, 5, 0, 0, 0], 1, 9, [1]],
  ] as const) {
    const { buffer, qps, written, unit } = makeSpilled(counts, room);
    const what = `policy ${policy}, ${count} of ${counts}, room ${room}`;
    t.equal(unit.spillBuffered(count, { policy, spillBuffered: true }), true, what);
    t.same(written, expected, what);
    t.equal(buffer.used, 5 - expected.length);
    t.same(
      qps.map(({ doorbellWaiting }) => doorbellWaiting),
      counts.map((_, number) => !(expected as readonly number[]).includes(number)),
      'a spilled queue pair may ring again',
    );
  }
  const { unit } = makeSpilled([0, 0, 0], 9, 1);
  t.equal(unit.spillBuffered(2, { policy: NEWEST, spillBuffered: true }), false, 'a write that fails loses one');
});

t.test('the arrival is spilled, or the oldest entry for it, as the policy says', async (t) => {
  for (const [policy, expected] of [
    [OverflowPolicy.NEWEST, [7]],
    [OverflowPolicy.MOST_SPILLED, [0]],
  ] as const) {
    const { buffer, written, unit } = makeSpilled([3, 0, 0, 0, 0], 9);
    const arrival = { number: 7, doorbellWaiting: true } as QueuePair;
    t.equal(unit.take(arrival, 0, { policy, spillBuffered: true }), true);
    t.same(written, expected, `policy ${policy}`);
    t.equal(buffer.used, 5);
  }
});

/** Reads back an entry of QP 2 with a fault; also what was counted and reported. */
function readBack(fault: FaultKind) {
  const counters = { doorbellsDrained: 0 };
  const reports: number[] = [];
  const faults = { reportNumber: (kind: FaultKind) => reports.push(kind) };
  const owner = { counters, faults } as unknown as UnderlyingFunction;
  const qp = { number: 2, owner } as unknown as QueuePair;
  const buffer = new DoorbellBuffer(4);
  const overflow = { fetch: () => fault, settle: () => true, checkEmptied: () => true, pending: 0, qpn: 2 };
  const queuePairs = { get: () => qp } as unknown as ObjectTable<QueuePair>;
  const unit = new SpilledDoorbells(owner, queuePairs, buffer, overflow as unknown as OverflowBuffer);
  return { isKept: unit.readBack(), drained: counters.doorbellsDrained, reports, used: buffer.used };
}

t.test('an entry that cannot be read is none; one that was changed is reported and not restored', async (t) => {
  const { NONE, DMA_READ, OVERFLOW_ENTRY } = FaultKind;
  t.same(readBack(NONE), { isKept: true, drained: 1, reports: [], used: 1 });
  t.same(readBack(DMA_READ), { isKept: false, drained: 0, reports: [], used: 0 });
  t.same(readBack(OVERFLOW_ENTRY), { isKept: true, drained: 1, reports: [OVERFLOW_ENTRY], used: 0 });
});

t.test('most spilled: the arrival takes the place of one whose link check is outstanding', async (t) => {
  for (const spillBuffered of [false, true]) {
    const { buffer, written, unit } = makeSpilled([0, 3, 1, 0, 0], 9);
    buffer.checking = 2;
    const arrival = { number: 7, doorbellWaiting: true } as QueuePair;
    t.equal(unit.take(arrival, 0, { policy: OverflowPolicy.MOST_SPILLED, spillBuffered }), true);
    t.same(written, [spillBuffered ? 1 : 2]);
    t.equal(buffer.checking, spillBuffered ? 1 : 2);
    const at = spillBuffered ? 4 : 2;
    t.equal(buffer.queuePairAt(at), arrival, spillBuffered ? 'it is the last one' : 'in its place');
    t.equal(buffer.used, 5);
  }
});

t.test('a command with a PCB is spilled after the detection only when the policy says so', async (t) => {
  for (const spillCommands of [false, true]) {
    const flood = makeFlood({ spillCommands }, 2, 5);
    const other = flood.add();
    other.post(NOP);
    flood.posted.set(other.qpn, 1);
    t.equal(flood.read(CSR.COMMANDS_COLLECTED), 1, 'before the detection it is taken as it comes');
    post(flood, range(0, 12));
    const before = flood.read(CSR.DOORBELLS_SPILLED);
    other.post(NOP);
    flood.posted.set(other.qpn, 2);
    t.equal(flood.read(CSR.COMMANDS_COLLECTED), spillCommands ? 1 : 2);
    t.equal(flood.read(CSR.DOORBELLS_IMPLICIT), Number(spillCommands));
    t.equal(flood.read(CSR.DOORBELLS_SPILLED), before + Number(spillCommands));
    t.equal(spilled(flood).at(-1) === -1, spillCommands, 'the last entry is its QP');
    t.equal(flood.finish(), undefined);
    t.equal(flood.read(CSR.COMMANDS_COLLECTED), spillCommands ? 1 : 2);
  }
});

t.test('a pruned command is covered by a doorbell that waits; without an overflow buffer it is swept', async (t) => {
  const flood = makeFlood({ spillCommands: true }, 2, 5);
  const command = flood.qps[0].post(NOP, 'register');
  flood.posted.set(flood.qps[0].qpn, 1);
  post(flood, range(1, 12));
  const before = flood.read(CSR.DOORBELLS_SPILLED);
  flood.qps[0].collect(command);
  t.equal(flood.read(CSR.DOORBELLS_IMPLICIT), 1);
  t.equal(flood.read(CSR.DOORBELLS_SPILLED), before, 'its doorbell is in the scheduler buffer');
  t.equal(flood.finish(), undefined);
  const bare = makeFlood({ spillCommands: true, ringLog2: 0 }, 2, 5);
  const other = bare.add();
  post(bare, range(0, 12));
  const lost = bare.read(CSR.DOORBELLS_LOST);
  other.post(NOP);
  bare.posted.set(other.qpn, 1);
  t.equal(bare.read(CSR.DOORBELLS_LOST), lost + 1);
  t.equal(bare.finish(), undefined);
});

t.test('adaptive: reads that hold all dedicated buffers raise the low threshold, free reads lower it', async (t) => {
  const adapter = { doorbellEntries: 16, busReads: 12, schedulerBufferCount: 4 };
  const flood = makeFlood({ adaptive: true, adapter }, 2, 12);
  const low = () => getCsrDoorbellThresholdsLow(flood.read(CSR.DOORBELL_THRESHOLDS));
  const load = (commands: number, doorbells: number) => {
    post(flood, range(0, commands));
    flood.fixture.machine.clock.advance(LATENCY_NS);
    flood.fixture.settle();
    post(flood, range(commands, commands + doorbells));
    t.equal(flood.finish(), undefined);
  };
  load(4, 4);
  t.equal(low(), 2, 'eight reads are no danger');
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 0);
  // Four reads of records hold the dedicated buffers, eight link checks are the other reads.
  load(4, 12);
  t.equal(low(), 9, 'it rose to the free entries of that moment, and one');
  const seen: number[] = [];
  for (let round = 0; round < 5; round++) {
    load(0, 11);
    seen.push(low());
  }
  t.same(seen, [8, 7, 6, 6, 6], 'then it falls until eleven doorbells leave enough entries');
  load(4, 12);
  t.equal(low(), 9, 'and rises again');
});

t.test('random load with all policies: every command once and in order', async (t) => {
  for (const policy of [OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED])
    for (let seed = 1; seed <= 12; seed++) {
      const adapter = { busReads: [4, 8, 32][seed % 3], schedulerBufferCount: 1 + (seed % 4) };
      const scopes = { spillBuffered: seed % 4 > 0, spillCommands: seed % 2 > 0, adaptive: seed % 5 === 0 };
      const flood = makeFlood({ seed, policy, ringLog2: 3 + (seed % 3), ...scopes, adapter }, 2, 3 + (seed % 6));
      const { random, machine } = flood.fixture;
      for (let round = 0; round < 60; round++) {
        for (let count = random.between(1, 12); count > 0; count--) {
          const qp = random.pick(flood.qps);
          if ((flood.posted.get(qp.qpn) ?? 0) - (flood.completed.get(qp.qpn) ?? 0) >= 8) continue;
          qp.post(NOP, random.oneIn(3) ? 'collect' : 'register');
          flood.posted.set(qp.qpn, (flood.posted.get(qp.qpn) ?? 0) + 1);
        }
        if (random.oneIn(2)) machine.clock.advance(LATENCY_NS / random.between(1, 4));
        flood.fixture.settle();
        const wrong = flood.reap();
        if (wrong !== undefined) t.fail(`policy ${policy}, seed ${seed}, round ${round}: ${wrong}`);
        flood.fixture.checkInvariants();
      }
      t.equal(flood.finish(), undefined, `policy ${policy}, seed ${seed}`);
    }
});
