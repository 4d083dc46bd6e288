// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that found no PCB in the FIFO in host memory (US 8,484,392 par. 99-107), next to
 * doorbells: which commands go there, their order, and what happens without room or memory.
 */
import t from 'tap';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  setCsrDoorbellPolicyExact,
  setCsrDoorbellPolicyHostQueue,
  setCsrOverflowControlEnable,
  setCsrOverflowControlEntriesLog2,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { CommandPoster, NOP } from '../../rig/fixtures/command-poster.ts';
import { DoorbellFlood, type FloodOptions } from '../../rig/fixtures/doorbell-flood.ts';
import { Step } from '../function/timeline.ts';
import { DoorbellSource } from '../function/timeline-values.ts';

/** log2 of the FIFO, unless a test says otherwise. */
const RING_LOG2 = 5;

/** The only PCB is taken, so each copy is refused; `on` chooses the FIFO in host memory. */
function start(on: boolean, options: FloodOptions = {}): DoorbellFlood {
  // One lane: commands execute in the order in which the scheduler admits them.
  const adapter = { pcbCount: 1, pcbGuaranteed: [0, 0] as const, schedulerBufferCount: 4, laneCount: 1 };
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

/** Names of the completed commands, in their order: queue pair and sequence number. */
function complete(flood: DoorbellFlood): string[] {
  flood.fixture.settle();
  return flood.cq.drain().map(({ qpn, queueSequence }) => `${qpn}:${queueSequence}`);
}

t.test('commands of several queue pairs execute in the order of the FIFO, one entry after the other', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const flood = start(true, { seed });
    const { fixture } = flood;
    const order: string[] = [];
    fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
    for (let count = 0; count < 24; count++) {
      const qp = flood.qps[fixture.random.below(4)];
      if (qp.sendTail === 8) continue;
      order.push(`${qp.qpn}:${qp.sendTail}`);
      collect(flood, qp);
    }
    fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
    t.same(complete(flood), order, `seed ${seed}`);
    t.equal(flood.read(CSR.COMMANDS_FETCHED), order.length);
  }
});

t.test(
  'the FIFO goes on behind commands that are gone: their queue pair was stopped, reset or destroyed',
  async (t) => {
    for (const how of ['stop', 'reset', 'destroy'] as const) {
      const flood = start(true);
      const { fixture } = flood;
      const [gone, other] = flood.qps;
      fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
      for (const qp of [gone, other, gone, other]) collect(flood, qp);
      // No dedicated buffer is free: the first command waits in the list of its queue pair.
      const { schedulerBuffers } = fixture.machine.device;
      const held = Array.from({ length: 4 }, () => schedulerBuffers.bind(0, 0, -1));
      fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
      fixture.machine.runUntilIdle();
      t.equal(unitOf(flood).overflow.pending, 3, `${how}: the other entries wait for the first one`);
      if (how === 'stop') gone.stop();
      else gone.toReset();
      if (how === 'destroy') gone.destroy();
      for (const buffer of held) if (buffer !== undefined) schedulerBuffers.release(buffer);
      t.same(complete(flood), [`${other.qpn}:0`, `${other.qpn}:1`], how);
      t.equal(unitOf(flood).overflow.pending, 0, how);
    }
  },
);

t.test('an exact doorbell stands for the commands up to its own, whatever the tail shows', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const flood = new DoorbellFlood({ seed, queuePairs: 1, ringLog2: RING_LOG2 });
    const { fixture } = flood;
    const qps = [0, 1, 2].map(() => fixture.createQueuePair({ sendCq: flood.cq, sendEntriesLog2: 5 }));
    const policy = setCsrDoorbellPolicyExact(OverflowPolicy.NEWEST, 1);
    fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, policy, 0);
    const named = qps.map(() => 0);
    const done = qps.map(() => 0);
    for (let step = 0; step < 60; step++) {
      const index = fixture.random.below(qps.length);
      const qp = qps[index];
      if (qp.sendTail < 24) qp.post(NOP, 'slot');
      if (qp.sendTail > 0 && fixture.random.oneIn(2)) {
        const sequence = fixture.random.below(qp.sendTail);
        named[index] = Math.max(named[index], sequence + 1);
        qp.ring(sequence, 'register');
      }
      if (fixture.random.oneIn(3)) fixture.machine.step();
      if (fixture.random.oneIn(4)) {
        fixture.settle();
        for (const { qpn } of flood.cq.drain()) done[qps.findIndex((one) => one.qpn === qpn)]++;
        t.same(done, named, `seed ${seed}, step ${step}`);
      }
    }
  }
});

t.test('exact doorbells after collect copies, a sweep, and a lost doorbell name all that is posted', async (t) => {
  const flood = new DoorbellFlood({ seed: 1, queuePairs: 1, ringLog2: 0 });
  const { fixture } = flood;
  const [qp] = flood.qps;
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyExact(OverflowPolicy.NEWEST, 1), 0);
  // The numbers of more than half a lap come by collect buffer: what doorbells named is old.
  for (let count = 0; count < 0x9000; count++) {
    qp.post(NOP, 'collect');
    if (count % 16 === 15) complete(flood);
  }
  complete(flood);
  qp.post(NOP, 'register');
  t.equal(complete(flood).length, 1, 'a doorbell');
  for (let count = 0; count < 3; count++) qp.post(NOP, 'slot');
  t.equal(complete(flood).length, 0);
  unitOf(flood).lose();
  t.equal(complete(flood).length, 3, 'a sweep');
});

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
