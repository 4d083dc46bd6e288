// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells beyond the capacity of the scheduler buffer (US 9,069,485 par. 67, 84-97): one command
 * arriving in all four ways, thresholds and policy as registers, removal of the overflow buffer,
 * isolation of functions.
 */
import t from 'tap';
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { getDoorbellQpn } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  CSR,
  getCsrDoorbellThresholdsLow,
  getCsrOverflowControlEnable,
  getCsrOverflowStatusSpilling,
  setCsrOverflowControlEntriesLog2,
} from '../../../protocol/layout/gen/registers.gen.ts';
import {
  getSendQueueDescriptorNextQpn,
  getSendQueueDescriptorNextState,
  SEND_QUEUE_DESCRIPTOR_SIZE,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { FaultKind, LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { CommandPoster, NOP } from '../../rig/fixtures/command-poster.ts';
import { BUFFER_ENTRIES, DoorbellFlood } from '../../rig/fixtures/doorbell-flood.ts';
import { partOf } from '../../rig/fixtures/seeds.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';

const GOAL = 66_500;

const wraps = [
  [OverflowPolicy.NEWEST, LinkCheck.READ, 31],
  [OverflowPolicy.MOST_SPILLED, LinkCheck.COMPARE_SWAP, 32],
] as const;

for (const [policy, linkCheck, seed] of partOf(wraps, 1)) {
  t.test(
    `a command by collect copy, implicit, explicit and spilled doorbell executes once, through the wrap (policy ${policy}, seed ${seed})`,
    async (t) => {
      const adapter = { pcbCount: 4, pcbGuaranteed: [1, 1] as const, schedulerBufferCount: 4 };
      const flood = new DoorbellFlood({ seed, policy, linkCheck, ringLog2: 3, queuePairs: 16, adapter });
      const { fixture } = flood;
      const { random } = fixture;
      const posters = [new CommandPoster(fixture), new CommandPoster(fixture)];
      fixture.machine.onStep = () => {};
      for (let round = 1; posters.some(({ posted }) => posted < GOAL); round++) {
        // The others fill the scheduler buffer, so that what follows is spilled or dropped.
        if (random.oneIn(32)) {
          fixture.settle();
          const wrong = flood.reap();
          if (wrong !== undefined) throw new Error(`${wrong}; seed ${seed}, round ${round}`);
          flood.burst();
        }
        for (const poster of posters) {
          if (poster.room > 0) poster.post();
          if (random.oneIn(4) || poster.room === 0) poster.qp.ring();
        }
        if (random.oneIn(16)) fixture.access.writeRegister(CSR.SEND_DOORBELL, 8, random.next(), random.next());
        fixture.machine.step();
        if (round % 64 === 0) fixture.checkInvariants();
        for (const poster of posters) {
          const wrong = poster.reap();
          if (wrong !== undefined) throw new Error(`${wrong}; seed ${seed}, round ${round}`);
        }
      }
      for (const poster of posters) poster.qp.ring();
      t.equal(flood.findWrong(), undefined, `seed ${seed}: the others`);
      for (const poster of posters) {
        t.equal(poster.reap(), undefined, `seed ${seed}`);
        t.equal(poster.completed, poster.posted, `seed ${seed}: every command completed`);
      }
      const all = posters.reduce((sum, { posted }) => sum + posted, flood.total);
      t.equal(flood.read(CSR.COMMANDS_FETCHED) + flood.read(CSR.COMMANDS_COLLECTED), all, 'each was executed once');
      for (const [name, offset] of Object.entries({
        copies: CSR.COMMANDS_COLLECTED,
        refusals: CSR.COLLECT_REFUSALS,
        implicit: CSR.DOORBELLS_IMPLICIT,
        explicit: CSR.DOORBELLS_EXPLICIT,
        drained: CSR.DOORBELLS_DRAINED,
        lost: CSR.DOORBELLS_LOST,
        sweeps: CSR.SWEEPS,
        'stale copies': CSR.COMMANDS_STALE,
        'stale doorbells': CSR.DOORBELLS_STALE,
      }))
        t.ok(flood.read(offset) > 100, `${name}: ${flood.read(offset)}`);
      t.ok(fixture.faults(FaultKind.COMMAND_BAD_QP) > 100, 'doorbells of unknown QPs');
      t.same(Object.keys(fixture.allFaults()), ['COMMAND_BAD_QP'], 'and no other fault');
      fixture.finish();
    },
  );
}

/** Every order of `items`. */
function permute<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((first) => permute(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

t.test('one command by all four ways, in every order and at any distance, executes once around the wrap', async (t) => {
  const orders = permute(['copy', 'implicit', 'explicit', 'spilled'] as const);
  const distances = [0, 1, 2, 4, Number.POSITIVE_INFINITY];
  const count = orders.length * distances.length;
  const flood = new DoorbellFlood({ budget: 1, ringLog2: 4, queuePairs: 2 });
  const { fixture } = flood;
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 9 });
  const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 8 });
  fixture.machine.onStep = () => {};
  while (qp.sendTail < 0x10000 - count / 2) {
    qp.post(NOP, 'slot');
    if (qp.sendTail % 256 !== 0 && qp.sendTail < 0xff00) continue;
    qp.ring();
    fixture.settle();
    sendCq.drain();
  }
  flood.setThresholds(BUFFER_ENTRIES - 1, BUFFER_ENTRIES);
  const ways = {
    copy: (bytes: Uint8Array) => qp.collect(bytes),
    implicit: (bytes: Uint8Array) => qp.collect(bytes.map((byte, at) => (at === 63 ? ~byte : byte))),
    explicit: () => qp.ring(),
    // Two doorbells before it leave no free entry in the buffer.
    spilled: () => {
      for (const other of flood.qps) flood.post(other);
      qp.ring();
    },
  };
  for (const distance of distances)
    for (const order of orders) {
      const sequence = qp.sendTail;
      const bytes = qp.post(NOP, 'slot');
      for (const way of order) {
        ways[way](bytes);
        if (distance === Number.POSITIVE_INFINITY) fixture.settle();
        else for (let step = 0; step < distance; step++) fixture.machine.step();
      }
      fixture.settle();
      const seen = sendCq.drain().map(({ queueSequence }) => queueSequence);
      if (seen.join() !== `${sequence}`)
        t.fail(`${order}, ${distance} steps apart: completions ${seen} of command ${sequence}`);
    }
  t.equal(qp.sendTail, count / 2, 'the sequence number has wrapped');
  t.equal(flood.findWrong(), undefined, 'commands of the flood');
  for (const [name, offset] of Object.entries({
    copies: CSR.COMMANDS_COLLECTED,
    implicit: CSR.DOORBELLS_IMPLICIT,
    spilled: CSR.DOORBELLS_SPILLED,
    'stale copies': CSR.COMMANDS_STALE,
    'stale doorbells': CSR.DOORBELLS_STALE,
  }))
    t.ok(flood.read(offset) > 20, `${name}: ${flood.read(offset)}`);
  t.same(Object.keys(fixture.allFaults()), ['COMMAND_CHECKSUM'], 'the damaged copies');
  fixture.finish();
});

t.test('each function spills only its own doorbells, into its own memory', async (t) => {
  const flood = new DoorbellFlood({ functionCount: 2, budget: 2, ringLog2: 6 });
  const access = new InProcessAccess(flood.fixture.machine, 1);
  const driver = new Driver(access).bringUp({ overflowEntriesLog2: 6 });
  const sendCq = driver.createCompletionQueue({ entriesLog2: 6 });
  const pd = driver.createProtectionDomain();
  const qps = flood.qps.map(() => driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 1 }).start());
  const both = [
    { access: flood.fixture.access, driver: flood.fixture.driver, own: flood.qps },
    { access, driver, own: qps },
  ];
  const read = (one: InProcessAccess, offset: number): number => one.readRegister(offset, 4);
  flood.burst();
  for (const qp of qps) qp.post(NOP, 'register');
  while (both.some((one) => read(one.access, CSR.OVERFLOW_WRITTEN) < 8)) flood.fixture.machine.step();
  for (const { access: one, driver: its, own } of both) {
    const ring = one.view(its.overflowAddress, 64);
    const spilled = Array.from({ length: 8 }, (_, index) => getDoorbellQpn(ring, 8 * index));
    t.ok(
      spilled.every((qpn) => own.some((qp) => qp.qpn === qpn)),
      `function ${read(one, CSR.FUNCTION_NUMBER)}: ${spilled}`,
    );
  }
  t.equal(flood.findWrong(), undefined);
  t.same(
    sendCq
      .drain()
      .map(({ qpn }) => qpn)
      .sort(),
    qps.map(({ qpn }) => qpn).sort(),
  );
  for (const { access: one } of both)
    t.equal(read(one, CSR.DOORBELLS_DRAINED), read(one, CSR.DOORBELLS_SPILLED), 'all were read back');
});

t.test('waiting send queues are a linked list of descriptors in host memory, one list per QoS level', async (t) => {
  const fixture = new AdapterFixture({ adapter: { schedulerBufferCount: 1 }, bringUp: { levelOnePages: 8 } });
  const queues = [0, 1].map((qosLevel) => Array.from({ length: 5 }, () => fixture.createQueuePair({ qosLevel })));
  const { schedulerBuffers } = fixture.machine.device;
  fixture.settle();
  const linked = fixture.read(CSR.QUEUES_LINKED);
  // A command in the pipeline holds the only dedicated buffer.
  const held = schedulerBuffers.bind(0, 0, -1);
  if (held === undefined) throw new Error('no buffer is free');
  /** State and next QPN of the descriptors in guest memory. */
  const links = () =>
    queues.map((qps) =>
      qps.map(({ parts }) => {
        const descriptor = fixture.access.view(parts.descriptorAddress, SEND_QUEUE_DESCRIPTOR_SIZE);
        return [getSendQueueDescriptorNextState(descriptor, 0), getSendQueueDescriptorNextQpn(descriptor, 0)];
      }),
    );
  const none = links();
  for (let index = 0; index < 5; index++) for (const qps of queues) qps[index].post(NOP, 'register');
  fixture.settle();
  const [queued, last] = [0, 0xffffff];
  t.same(
    links(),
    queues.map((qps) => qps.map((_, index) => [queued, qps[index + 1]?.qpn ?? last])),
    'each descriptor names the next queue',
  );
  t.equal(fixture.read(CSR.QUEUES_LINKED) - linked, 10);
  schedulerBuffers.release(held);
  fixture.settle();
  for (const qp of queues.flat()) t.equal(qp.parts.sendCq.take().status, 0);
  t.same(links(), none, 'unlinked again');
  fixture.finish();
});

t.test('an overflow buffer with base or size out of range is refused and counted', async (t) => {
  const fixture = new AdapterFixture({ bringUp: { overflowEntriesLog2: 0 } });
  const address = fixture.driver.allocator.allocate(64);
  const attempts: [number, number, number][] = [
    [0, 0, 3],
    [address + 8, 0, 3],
    [address, 0, 2],
    [address, 0, 21],
    [address, 0x1000000, 3],
  ];
  for (const [base, high, log2] of attempts) {
    fixture.access.writeRegister(CSR.OVERFLOW_BASE, 8, lowDword(base), highDword(base) + high);
    fixture.access.writeRegister(CSR.OVERFLOW_CONTROL, 4, setCsrOverflowControlEntriesLog2(1, log2), 0);
    t.equal(getCsrOverflowControlEnable(fixture.read(CSR.OVERFLOW_CONTROL)), 0, `${base}, ${high}, ${log2}`);
  }
  t.equal(fixture.faults(FaultKind.OVERFLOW_CONTROL), attempts.length);
  fixture.driver.giveOverflowBuffer(3);
  t.equal(getCsrOverflowControlEnable(fixture.read(CSR.OVERFLOW_CONTROL)), 1);
  fixture.access.writeRegister(CSR.OVERFLOW_CONTROL, 4, 0, 0);
  t.equal(getCsrOverflowControlEnable(fixture.read(CSR.OVERFLOW_CONTROL)), 0, 'and off again');
  fixture.finish();
});

t.test('removing an overflow buffer with doorbells in it loses none of their commands', async (t) => {
  const flood = new DoorbellFlood({ seed: 6, budget: 4 });
  flood.burst();
  while (flood.read(CSR.OVERFLOW_WRITTEN) < 4) flood.fixture.machine.step();
  flood.fixture.access.writeRegister(CSR.OVERFLOW_CONTROL, 4, 0, 0);
  t.equal(flood.findWrong(), undefined);
  flood.fixture.finish();
});

t.test('thresholds: spilling ends at the high threshold and begins one below the low one', async (t) => {
  for (const [low, high] of [
    [2, 3],
    [2, 5],
    [2, 8],
    [5, 6],
    [5, 8],
  ] as const) {
    const flood = new DoorbellFlood({ budget: 1 });
    flood.fixture.settle();
    flood.setThresholds(low, high);
    const begins: number[] = [];
    const ends: number[] = [];
    let [spilling, free] = [0, BUFFER_ENTRIES];
    flood.fixture.machine.onStep = () => {
      const before = { spilling, free };
      spilling = getCsrOverflowStatusSpilling(flood.read(CSR.OVERFLOW_STATUS));
      free = BUFFER_ENTRIES - flood.read(CSR.DOORBELL_BUFFER_USED);
      if (spilling > before.spilling) begins.push(before.free);
      if (spilling < before.spilling) ends.push(free);
    };
    for (let round = 0; round < 3; round++) {
      flood.burst();
      flood.fixture.settle();
    }
    const what = `thresholds ${low} and ${high}`;
    t.same(begins, [low - 1, low - 1, low - 1], `${what}: free entries when spilling begins`);
    // The step that ends spilling may free another entry.
    const atEnd = Math.min(high + 1, BUFFER_ENTRIES);
    t.same(ends, [atEnd, atEnd, atEnd], `${what}: free entries after spilling has ended`);
    t.equal(flood.findWrong(), undefined);
    flood.fixture.finish();
  }
});

t.test('thresholds: spilling begins below the low threshold, and no setting loses a doorbell', async (t) => {
  const flood = new DoorbellFlood({ budget: 1 });
  flood.fixture.settle();
  flood.setThresholds(5, 7);
  flood.burst(flood.qps.slice(0, BUFFER_ENTRIES - 4));
  let mostUsed = 0;
  const watch = (): void => {
    mostUsed = Math.max(mostUsed, flood.read(CSR.DOORBELL_BUFFER_USED));
  };
  flood.fixture.machine.onStep = watch;
  flood.fixture.settle();
  t.equal(flood.read(CSR.DOORBELLS_SPILLED), 0, 'four used entries leave four: a fifth would fall below the threshold');
  t.equal(mostUsed, 4);
  t.equal(flood.findWrong(), undefined);
  flood.burst(flood.qps.slice(0, BUFFER_ENTRIES));
  flood.fixture.settle();
  t.equal(mostUsed, 4);
  t.ok(flood.read(CSR.DOORBELLS_SPILLED) > 0);
  t.equal(flood.findWrong(), undefined);
  for (const [low, high] of [
    [0, 0],
    [0xffff, 0xffff],
    [3, 2],
  ] as const) {
    flood.setThresholds(low, high);
    flood.burst();
    t.equal(flood.findWrong(), undefined, `thresholds ${low} and ${high} lose nothing`);
  }
  flood.fixture.finish();
});

t.test('adaptive thresholds: the low one falls while reads are far from their limit', async (t) => {
  const flood = new DoorbellFlood({ adaptive: true, adapter: { doorbellEntries: 16, busReads: 64 } });
  const low = () => getCsrDoorbellThresholdsLow(flood.read(CSR.DOORBELL_THRESHOLDS));
  flood.setThresholds(8, 12);
  for (let round = 0; round < 4; round++) {
    flood.burst();
    t.equal(flood.findWrong(), undefined);
  }
  t.ok(low() < 8, `fell to ${low()}`);
  flood.fixture.finish();
});

t.test('policy most-spilled: a QP with doorbells in the overflow buffer makes room for one without', async (t) => {
  for (const policy of [OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED]) {
    const flood = new DoorbellFlood({ policy, budget: 1, adapter: { busReads: 1 } });
    flood.fixture.settle();
    flood.setThresholds(2, 3);
    const [busy, ...others] = flood.qps;
    for (const qp of [...others.slice(0, 7), busy]) flood.post(qp);
    while (flood.read(CSR.OVERFLOW_WRITTEN) === 0) flood.fixture.machine.step();
    // Links are checked one at a time, so entries return long before the overflow buffer is read.
    while (getCsrOverflowStatusSpilling(flood.read(CSR.OVERFLOW_STATUS)) === 1) flood.fixture.machine.step();
    const late = others[10];
    for (const qp of [busy, ...others.slice(7, 10), late]) flood.post(qp);
    while (flood.read(CSR.OVERFLOW_WRITTEN) < 2) flood.fixture.machine.step();
    const ring = flood.fixture.access.view(flood.fixture.driver.overflowAddress, 16);
    const [first, second] = [getDoorbellQpn(ring, 0), getDoorbellQpn(ring, 8)];
    t.equal(first, busy.qpn);
    t.equal(second === busy.qpn, policy === OverflowPolicy.MOST_SPILLED, `policy ${policy}`);
    t.equal(flood.findWrong(), undefined);
    flood.fixture.finish();
  }
});

t.test('a second doorbell that merges with a waiting one loses no command', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const qp = fixture.createQueuePair();
  fixture.settle();
  // At every moment of the second doorbell its command is executed.
  for (let moment = 0; moment < 12; moment++) {
    qp.post(NOP, 'register');
    for (let step = 0; step < moment; step++) fixture.machine.step();
    qp.post(NOP, 'register');
    fixture.settle();
    t.equal(qp.parts.sendCq.drain().length, 2, `after ${moment} steps`);
  }
  fixture.finish();
});

t.test('a function that stalls itself by policy OFF takes nothing from another function', async (t) => {
  const flood = new DoorbellFlood({ policy: OverflowPolicy.OFF, functionCount: 2 });
  const other = new InProcessAccess(flood.fixture.machine, 1);
  const driver = new Driver(other).bringUp();
  const sendCq = driver.createCompletionQueue();
  const qp = driver.createQueuePair({ pd: driver.createProtectionDomain(), sendCq }).start();
  flood.burst();
  flood.fixture.settle();
  t.equal(flood.read(CSR.OVERFLOW_STATUS), 4, 'stalled');
  for (let count = 0; count < 100; count++) {
    flood.burst(flood.qps.slice(0, 4));
    qp.post(NOP, 'register');
    t.equal(sendCq.take().queueSequence, count);
  }
  for (const offset of [
    CSR.OVERFLOW_STATUS,
    CSR.DOORBELLS_SPILLED,
    CSR.DOORBELLS_LOST,
    CSR.SWEEPS,
    CSR.DEADLOCKS_DETECTED,
  ])
    t.equal(other.readRegister(offset, 4), 0);
  t.equal(flood.read(CSR.OVERFLOW_STATUS), 4, 'still');
});
