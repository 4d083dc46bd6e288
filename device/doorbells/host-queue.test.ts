// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that found no PCB in the FIFO in host memory (US 8,484,392 par. 99-107), next to
 * doorbells: which commands go there, their order, and what happens without room or memory.
 */
import t from 'tap';
import {
  CSR,
  setCsrDoorbellPolicyHostQueue,
  setCsrOverflowControlEnable,
  setCsrOverflowControlEntriesLog2,
} from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, OverflowPolicy } from '../../protocol/layout/gen/values.gen.ts';
import { Step } from '../function/timeline.ts';
import { DoorbellSource } from '../function/timeline-values.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import { CommandPoster, NOP } from '../test-support/command-poster.ts';
import { DoorbellFlood, type FloodOptions } from '../test-support/doorbell-flood.ts';

/** log2 of the FIFO, unless a test says otherwise. */
const RING_LOG2 = 5;

/** The only PCB is taken, so each copy is refused; `on` chooses the FIFO in host memory. */
function start(on: boolean, options: FloodOptions = {}): DoorbellFlood {
  const adapter = { pcbCount: 1, pcbGuaranteed: [0, 0] as const, schedulerBufferCount: 4 };
  const flood = new DoorbellFlood({ seed: 1, queuePairs: 12, ringLog2: RING_LOG2, ...options, adapter });
  choose(flood, on, options.policy);
  flood.fixture.access.writeCollect(flood.add().parts.page, 4, 0, 0);
  return flood;
}

function choose({ fixture }: DoorbellFlood, on: boolean, policy: OverflowPolicy = OverflowPolicy.NEWEST): void {
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyHostQueue(policy, Number(on)), 0);
}

/** Posts a NOP whose copy is written to the VCB of the QP. The device does not run. */
function collect(flood: DoorbellFlood, qp: DriverQueuePair): void {
  const copy = qp.fill(NOP).slice();
  qp.advanceSendTail();
  flood.posted.set(qp.qpn, (flood.posted.get(qp.qpn) ?? 0) + 1);
  qp.collect(copy);
}

const unitOf = (flood: DoorbellFlood) => flood.fixture.machine.device.functions[0].doorbells;

/** QP and sequence number of the entries that the scheduler reads from now on. */
function watchReads(flood: DoorbellFlood): number[][] {
  const { overflow } = unitOf(flood);
  const read: number[][] = [];
  const fetch = overflow.fetch.bind(overflow);
  overflow.fetch = () => {
    const fault = fetch();
    read.push([overflow.qpn, overflow.sequence]);
    return fault;
  };
  return read;
}

for (const on of [false, true]) {
  t.test(`refused commands wait ${on ? 'in host memory, oldest first' : 'on the bus'}; each is executed`, async (t) => {
    const flood = start(on);
    const order = [3, 0, 5, 3, 1];
    const rung: unknown[] = [];
    const note = (step: Step, _owner: number, ...what: unknown[]) => step === Step.DOORBELL && rung.push(what);
    flood.fixture.machine.device.functions[0].underlying.timeline = { note } as never;
    for (const index of order) collect(flood, flood.qps[index]);
    const expected = order.map((index, at) => [flood.qps[index].qpn, at === 3 ? 1 : 0]);
    t.same(
      rung,
      expected.map((one) => [...one, DoorbellSource.NO_PCB]),
      'the timeline shows a doorbell for each',
    );
    flood.post(flood.qps[7]);
    const { overflow, inbound } = unitOf(flood);
    t.equal(overflow.pending, on ? 5 : 0, 'each command has an entry');
    t.equal(inbound.posted, on ? 1 : 5, 'an explicit doorbell stays one; one doorbell covers two commands');
    const read = watchReads(flood);
    t.equal(flood.findWrong(), undefined);
    t.same(read, on ? expected : []);
    for (const [name, offset, count] of [
      ['queued', CSR.COMMANDS_QUEUED, on ? 5 : 0],
      ['spilled', CSR.DOORBELLS_SPILLED, on ? 5 : 0],
      ['drained', CSR.DOORBELLS_DRAINED, on ? 5 : 0],
      ['implicit', CSR.DOORBELLS_IMPLICIT, 5],
      ['lost', CSR.DOORBELLS_LOST, 0],
      ['deadlocks', CSR.DEADLOCKS_DETECTED, 0],
    ] as const)
      t.equal(flood.read(offset), count, name);
  });
}

t.test('one queued command is enough to wake the scheduler', async (t) => {
  const flood = start(true);
  flood.fixture.settle();
  collect(flood, flood.qps[2]);
  t.equal(flood.findWrong(), undefined);
});

t.test('a full FIFO, or none: the next commands are doorbells', async (t) => {
  const full = start(true, { ringLog2: 3 });
  for (const qp of full.qps.slice(0, 11)) collect(full, qp);
  t.same([unitOf(full).overflow.pending, unitOf(full).inbound.posted], [8, 3]);
  const none = start(true, { ringLog2: 0 });
  for (const qp of none.qps.slice(0, 5)) collect(none, qp);
  t.equal(unitOf(none).inbound.posted, 5);
  for (const flood of [full, none]) {
    t.equal(flood.findWrong(), undefined);
    t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  }
  t.equal(full.read(CSR.COMMANDS_QUEUED), 8);
});

t.test('a doorbell of the same QP that waits keeps waiting, and one served before leaves a stale entry', async (t) => {
  const flood = start(true);
  const [qp] = flood.qps;
  flood.post(qp);
  collect(flood, qp);
  qp.ring(undefined, 'register');
  t.same([unitOf(flood).inbound.posted, unitOf(flood).overflow.pending], [1, 1]);
  t.equal(flood.findWrong(), undefined);
  t.equal(flood.read(CSR.DOORBELLS_DRAINED), 1);
  t.equal(flood.fixture.faults(FaultKind.OVERFLOW_ENTRY), 0);
});

t.test('memory that cannot be written gives up the FIFO; a sweep finds the commands', async (t) => {
  const flood = start(true);
  const { access } = flood.fixture;
  access.writeRegister(CSR.OVERFLOW_BASE, 8, 0, 1 << 20);
  const control = setCsrOverflowControlEntriesLog2(setCsrOverflowControlEnable(0, 1), RING_LOG2);
  access.writeRegister(CSR.OVERFLOW_CONTROL, 4, control, 0);
  t.ok(unitOf(flood).overflow.enabled);
  collect(flood, flood.qps[0]);
  t.notOk(unitOf(flood).overflow.enabled);
  t.same(
    [flood.read(CSR.DOORBELLS_LOST), flood.read(CSR.COMMANDS_QUEUED), flood.read(CSR.DOORBELLS_SPILLED)],
    [1, 0, 0],
  );
  t.equal(flood.findWrong(), undefined);
  t.equal(flood.read(CSR.SWEEPS), 1);
});

t.test('a stopped QP leaves no entry', async (t) => {
  const flood = start(true);
  const [qp] = flood.qps;
  const adapter = flood.fixture.machine.device;
  unitOf(flood).stop(adapter.tables.queuePairs.get(qp.qpn) as never);
  collect(flood, qp);
  t.equal(unitOf(flood).overflow.pending, 0);
  t.equal(flood.read(CSR.DOORBELLS_IDLE), 1);
});

t.test('random copies and doorbells while the choice changes: each command executes once', async (t) => {
  const adapter = { pcbCount: 3, pcbGuaranteed: [1, 0] as const, schedulerBufferCount: 4 };
  const flood = new DoorbellFlood({ seed: 7, queuePairs: 16, ringLog2: 3, adapter });
  const { fixture } = flood;
  const { random } = fixture;
  flood.fixture.access.writeCollect(flood.add().parts.page, 4, 0, 0);
  flood.fixture.access.writeCollect(flood.add().parts.page, 4, 0, 0);
  const posters = Array.from({ length: 4 }, () => new CommandPoster(fixture));
  fixture.machine.onStep = () => {};
  for (let round = 1; round <= 3000; round++) {
    if (random.oneIn(16)) choose(flood, random.oneIn(3) === false, random.pick([1, 2]));
    if (random.oneIn(64)) {
      fixture.settle();
      t.equal(flood.reap(), undefined);
      flood.burst();
    }
    for (const poster of posters) {
      if (poster.room > 0) poster.post();
      if (random.oneIn(4) || poster.room === 0) poster.qp.ring();
    }
    fixture.machine.step();
    if (round % 64 === 0) fixture.checkInvariants();
    for (const poster of posters) {
      const wrong = poster.reap();
      if (wrong !== undefined) throw new Error(`${wrong}; round ${round}`);
    }
  }
  for (const poster of posters) poster.qp.ring();
  t.equal(flood.findWrong(), undefined);
  for (const poster of posters) {
    t.equal(poster.reap(), undefined);
    t.equal(poster.completed, poster.posted);
  }
  t.ok(flood.read(CSR.COMMANDS_QUEUED) > 100, `${flood.read(CSR.COMMANDS_QUEUED)} were queued`);
  t.ok(flood.read(CSR.DOORBELLS_SPILLED) > flood.read(CSR.COMMANDS_QUEUED), 'others were spilled');
  t.equal(flood.read(CSR.OVERFLOW_READ), flood.read(CSR.OVERFLOW_WRITTEN));
});
