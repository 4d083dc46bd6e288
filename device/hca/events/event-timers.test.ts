// SPDX-License-Identifier: Apache-2.0
/**
 * Interrupt timers and summary bytes of event queues (IPCOM000126453D par. 3-4; docs/DOCUMENTS.md
 * decision 8), also near the wrap of local time (docs/HAZARDS.md, hazards 28-30).
 */
import t from 'tap';
import {
  EqControl,
  EqMask,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import { EventPoller } from '../../rig/driver/event-poller.ts';
import { eqPayload } from '../../rig/driver/payloads.ts';
import { delayOf, EventQueueFixture, NOP, POLL_ONLY, VECTOR } from '../../rig/fixtures/event-queue-fixture.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

t.test(
  'the first event sets both bytes and the stamp and interrupts; one before the stamp sets its secondary byte only',
  async (t) => {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    fixture.complete(1);
    t.same(fixture.summary, [1, 0, 1, 0, 0]);
    t.equal(fixture.interrupts, 1);
    const { nextInterruptTimeLow: stamp, completionEventCounter } = fixture.query();
    t.equal(completionEventCounter, 1);
    t.equal(stamp, fixture.adapterFixture.machine.clock.now() + 10_000, 'local time plus the delay');
    fixture.clearSummary();
    fixture.complete(3);
    t.same(fixture.summary, [0, 0, 0, 0, 1]);
    t.equal(fixture.interrupts, 1);
    t.equal(fixture.query().completionEventCounter, 2);
    t.equal(fixture.query().nextInterruptTimeLow, stamp, 'the stamp stands');
    t.equal(fixture.events.walk().length, 2, 'the entry is always stored');
    fixture.finish();
  },
);

t.test('a late driver is interrupted once per delay, whatever it asked for', async (t) => {
  for (const controls of [EqControl.INTERRUPT, EqControl.PRIMARY_SUMMARY, EqControl.NOTHING]) {
    const fixture = new EventQueueFixture({ delayNs: 10_000, controls });
    const first = controls === EqControl.INTERRUPT ? 1 : 0;
    fixture.complete(0);
    t.equal(fixture.interrupts, first);
    fixture.adapterFixture.machine.clock.advance(10_000);
    fixture.complete(1);
    t.equal(fixture.interrupts, first, 'the stamp itself is not later than the stamp');
    fixture.adapterFixture.machine.clock.advance(1);
    fixture.clearSummary();
    fixture.complete(2);
    t.equal(fixture.interrupts, first + 1);
    t.same(fixture.summary, [0, 0, 0, 1, 0], 'the primary byte is that of a first event');
    fixture.complete(3);
    t.equal(fixture.interrupts, first + 1, 'a new stamp was set');
    t.equal(fixture.query().unresponsive, 1);
    fixture.finish();
  }
});

t.test('hazard 30: delay 0 interrupts on every event, the largest on none', async (t) => {
  const always = new EventQueueFixture({ delayNs: 0 });
  const never = new EventQueueFixture(POLL_ONLY);
  for (const fixture of [always, never]) {
    for (let index = 0; index < 4; index++) {
      fixture.complete(index);
      fixture.adapterFixture.machine.clock.advance(1e12);
    }
  }
  t.equal(always.interrupts, 4);
  t.equal(never.interrupts, 0);
  t.same(never.summary, [1, 1, 1, 1, 1]);
});

t.test('only events set the stamp: a new delay counts from the next event that does', async (t) => {
  for (const [from, to] of [
    [3_600e9, 1_000],
    [1_000, 3_600e9],
  ]) {
    const fixture = new EventQueueFixture({ delayNs: from });
    const { clock } = fixture.adapterFixture.machine;
    fixture.complete(0);
    const { nextInterruptTimeLow, nextInterruptTimeHigh } = fixture.query();
    fixture.modify({ attributeMask: EqMask.DELAY, ...delayOf(to) });
    t.match(fixture.query(), { nextInterruptTimeLow, nextInterruptTimeHigh, ...delayOf(to) });
    clock.advance(from);
    fixture.complete(1);
    t.equal(fixture.interrupts, 1, `${from} to ${to}: at the old stamp`);
    clock.advance(1);
    fixture.complete(2);
    t.equal(fixture.interrupts, 2, `${from} to ${to}: after the old stamp`);
    clock.advance(to);
    fixture.complete(3);
    t.equal(fixture.interrupts, 2, `${from} to ${to}: at the new stamp`);
    fixture.clearPending(0);
    clock.advance(1);
    fixture.complete(0);
    t.equal(fixture.interrupts, 3, `${from} to ${to}: after the new stamp`);
    fixture.finish();
  }
});

t.test('a new delay applies at once when no event is pending, and so do 0 and all ones', async (t) => {
  const empty = new EventQueueFixture({ delayNs: 3_600e9 });
  empty.complete(0);
  empty.clearPending(0);
  empty.modify({ attributeMask: EqMask.DELAY, ...delayOf(1_000) });
  empty.complete(0);
  t.equal(empty.interrupts, 2, 'a first event');
  empty.adapterFixture.machine.clock.advance(1_001);
  empty.complete(1);
  t.equal(empty.interrupts, 3, 'by the new delay');
  empty.finish();
  for (const [delay, interrupts] of [
    [delayOf(0), 2],
    [POLL_ONLY, 1],
  ] as const) {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    fixture.complete(0);
    fixture.modify({ attributeMask: EqMask.DELAY, ...delay });
    fixture.adapterFixture.machine.clock.advance(interrupts === 1 ? 1e12 : 0);
    fixture.complete(1);
    t.equal(fixture.interrupts, interrupts);
    fixture.finish();
  }
});

t.test('controls, vector and summary bytes that change leave the stamp', async (t) => {
  for (const change of [
    { attributeMask: EqMask.CONTROLS, controls: EqControl.NOTHING },
    { attributeMask: EqMask.VECTOR, vector: VECTOR },
    { attributeMask: EqMask.SUMMARY },
  ]) {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    fixture.complete(0);
    const { nextInterruptTimeLow } = fixture.query();
    fixture.adapterFixture.machine.clock.advance(5_000);
    fixture.modify(change);
    t.equal(fixture.query().nextInterruptTimeLow, nextInterruptTimeLow);
    fixture.complete(1);
    t.equal(fixture.interrupts, 1);
    fixture.adapterFixture.machine.clock.advance(5_001);
    fixture.complete(2);
    t.equal(fixture.interrupts, 2);
    fixture.finish();
  }
});

t.test('local time that is set leaves the stamp: set back it lengthens the delay, set ahead it ends it', async (t) => {
  for (const [setNs, leftNs] of [
    [20_000, 0],
    [10_001, 0],
    [10_000, 1],
    [0, 10_001],
    [-5_000, 15_001],
  ]) {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    const { clock } = fixture.adapterFixture.machine;
    fixture.setTimeFromWrap(0);
    fixture.complete(0);
    const { nextInterruptTimeLow } = fixture.query();
    fixture.setTimeFromWrap(setNs);
    t.equal(fixture.query().nextInterruptTimeLow, nextInterruptTimeLow);
    if (leftNs > 0) {
      clock.advance(leftNs - 1);
      fixture.complete(1);
      t.equal(fixture.interrupts, 1, `set to ${setNs} ns: not late`);
      clock.advance(1);
    }
    fixture.complete(2);
    t.equal(fixture.interrupts, 2, `set to ${setNs} ns: late`);
    fixture.finish();
  }
});

t.test('hazard 30: stamp and local time compare across the wrap of either', async (t) => {
  for (const [startNs, waitNs, late] of [
    [-5_000, 9_000, false],
    [-5_000, 11_000, true],
    [-20_000, 15_000, true],
    [-20_000, 9_000, false],
    [-10_000, 10_000, false],
    [-10_000, 10_001, true],
    [2 ** 52, 10_001, true],
  ] as const) {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    fixture.setTimeFromWrap(startNs);
    fixture.complete(0);
    fixture.adapterFixture.machine.clock.advance(waitNs);
    fixture.complete(1);
    t.equal(fixture.interrupts, late ? 2 : 1, `from ${startNs} after ${waitNs}`);
    fixture.finish();
  }
});

t.test('hazard 30: the last event may be stranded without an interrupt; a deadman finds it', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 10_000 });
  const taken: DriverCompletionQueue[] = [];
  const poller = new EventPoller(fixture.events, fixture.queues, (queue) => {
    taken.push(queue);
    queue.drain();
  });
  fixture.complete(0);
  t.equal(fixture.interrupts, 1);
  // An event comes between the driver's walk of the queue and its clearing of EQ pending.
  const [event] = fixture.events.walk();
  t.equal(event?.objectNumber, fixture.queues[0]?.cqn);
  fixture.complete(1);
  fixture.clearPending(0);
  fixture.adapterFixture.machine.clock.advance(3_600e9);
  fixture.adapterFixture.settle();
  t.equal(fixture.interrupts, 1, 'no interrupt for an hour');
  t.equal(poller.deadman(), 1);
  t.same(taken, [fixture.queues[1]]);
  t.equal(poller.stranded, 1);
  fixture.adapterFixture.settle();
  t.equal(fixture.query().completionEventCounter, 0);
  fixture.finish();
});

t.test(
  'hazard 29: clearing a clear EQ pending bit changes nothing; destroying a CQ takes back its count',
  async (t) => {
    const fixture = new EventQueueFixture({ delayNs: 10_000 });
    for (let count = 0; count < 3; count++) fixture.clearPending(0);
    t.equal(fixture.query().completionEventCounter, 0, 'no underflow');
    fixture.complete(0);
    fixture.complete(1);
    t.equal(fixture.query().completionEventCounter, 2);
    fixture.qps[1].destroy();
    fixture.adapterFixture.driver.management.perform({
      opcode: ManagementOpcode.DESTROY_CQ,
      objectNumber: fixture.queues[1].cqn,
    });
    t.equal(fixture.query().completionEventCounter, 1);
    fixture.clearPending(0);
    t.equal(fixture.query().completionEventCounter, 0);
    t.equal(fixture.events.walk().length, 2, 'a stale entry names a CQ that is gone');
    fixture.complete(2);
    t.equal(fixture.interrupts, 2, 'the queue was empty of completion events');
    fixture.finish();
  },
);

t.test(
  'hazard 28: an event after the driver cleared EQ pending and before it read the CQ is posted anew; before, it is found in the CQ',
  async (t) => {
    const fixture = new EventQueueFixture({ delayNs: 0 }, 1);
    const [{ parts }] = fixture.qps;
    fixture.complete(0);
    fixture.events.walk();
    // Clear and arm, then a completion, then a read of the CQ: one event too many, none too few.
    parts.sendCq.notify();
    fixture.complete(0);
    t.equal(parts.sendCq.drain().length, 2);
    t.equal(fixture.events.walk().length, 1);
    // Read, then a completion, then clear and arm with the count that was read.
    parts.sendCq.notify();
    fixture.complete(0);
    t.equal(parts.sendCq.drain().length, 1);
    fixture.complete(0);
    t.equal(fixture.events.walk().length, 1);
    parts.sendCq.notify();
    fixture.adapterFixture.settle();
    t.equal(fixture.events.walk().length, 1, 'the entry beyond `consumed` makes an event');
    t.equal(parts.sendCq.drain().length, 1);
    fixture.finish();
  },
);

t.test('every write of an event is made before its interrupt: entry, secondary byte, primary byte', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 10_000 });
  const mark = fixture.adapterFixture.host.log.count;
  fixture.complete(2);
  const effects = fixture.adapterFixture.host.log.effectsSince(mark);
  const summary = effects.findIndex(({ kind }) => kind === AccessKind.WRITE);
  const { BODY, VALIDITY, WRITE, VECTOR: MESSAGE } = AccessKind;
  t.same(
    effects.map(({ kind }) => kind),
    [BODY, VALIDITY, BODY, VALIDITY, WRITE, WRITE, MESSAGE],
  );
  t.equal(effects[summary].address - effects[summary + 1].address, 3, 'the secondary byte, then the primary one');
  fixture.finish();
});

t.test('impossible addresses, counts and delays are refused, and nothing changes', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 77 });
  const before = fixture.query();
  const { management } = fixture.adapterFixture.driver;
  const memory = fixture.events.buffer.slotAddress(0);
  const attributeMask = EqMask.DELAY | EqMask.SUMMARY;
  const refused: [object, ManagementStatus][] = [
    [{ nextInterruptDelayNsHigh: 0x80000000 }, ManagementStatus.BAD_FIELD],
    [{ nextInterruptDelayNsHigh: 0xffffffff, nextInterruptDelayNsLow: 0xfffffffe }, ManagementStatus.BAD_FIELD],
    [{ primarySummaryAddress: 8 }, ManagementStatus.BAD_ADDRESS],
    [{ secondarySummaryCount: 1, secondarySummaryAddress: 8 }, ManagementStatus.BAD_ADDRESS],
    [{ secondarySummaryCount: 65537, secondarySummaryAddress: memory }, ManagementStatus.BAD_FIELD],
  ];
  for (const [change, status] of refused) {
    const payload = eqPayload({ attributeMask, ...change });
    const result = management.execute({
      opcode: ManagementOpcode.MODIFY_EQ,
      objectNumber: fixture.events.eqn,
      payload,
    });
    t.equal(result.status, status, JSON.stringify(change));
    t.same(fixture.query(), before);
  }
  fixture.finish();
});

t.test('a CQ index without a byte, and bytes in unmapped memory, lose no event', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 0 }, 2);
  const { driver, host } = fixture.adapterFixture;
  const beyond = driver.createCompletionQueue({ eventQueue: fixture.events, summaryIndex: 2 });
  beyond.notify();
  fixture.adapterFixture.createQueuePair({ sendCq: beyond }).post(NOP);
  fixture.adapterFixture.settle();
  t.same(fixture.summary, [1, 0, 0], 'no byte beyond the last is touched');
  t.equal(fixture.events.walk().length, 1);
  beyond.drain();
  beyond.notify();
  const page = 4096;
  const away = driver.allocator.allocate(3 * page);
  const hole = Math.ceil(away / page) * page;
  driver.management.perform({
    opcode: ManagementOpcode.MODIFY_EQ,
    objectNumber: fixture.events.eqn,
    payload: eqPayload({
      attributeMask: EqMask.SUMMARY,
      primarySummaryAddress: hole,
      secondarySummaryAddress: hole + 8,
      secondarySummaryCount: 2,
    }),
  });
  host.memory.protect(hole, page, PageAccess.UNMAPPED);
  fixture.complete(0);
  t.equal(fixture.events.walk().length, 1);
  t.equal(fixture.interrupts, 2);
  t.equal(fixture.adapterFixture.faults(FaultKind.DMA_WRITE), 2, 'one for each byte');
  fixture.finish();
});

t.test(
  'a driver that polls summary bytes takes every completion, and is interrupted only when it sleeps',
  async (t) => {
    const seed = 77;
    const fixture = new EventQueueFixture({ delayNs: 50_000, controls: EqControl.PRIMARY_SUMMARY }, 4, { seed });
    const { random, machine } = fixture.adapterFixture;
    let [posted, taken] = [0, 0];
    const poller = new EventPoller(fixture.events, fixture.queues, (queue) => {
      taken += queue.drain().length;
    });
    for (let turn = 0; turn < 4000; turn++) {
      const index = random.below(4);
      if (random.oneIn(2) && fixture.qps[index].parts.sendCq.ready === false) {
        fixture.qps[index].post(NOP);
        posted++;
      }
      machine.step();
      machine.clock.advance(random.below(2000));
      poller.poll();
    }
    fixture.adapterFixture.settle();
    poller.deadman();
    t.equal(taken, posted, `seed ${seed}`);
    t.equal(fixture.interrupts, 0, 'it polled in time');
    t.ok(poller.idlePolls > 500, 'most polls cost one look at one byte');
    fixture.finish();
  },
);
