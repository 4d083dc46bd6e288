// SPDX-License-Identifier: Apache-2.0
/**
 * Completion events: an EQ that is full or slow, events that wait, moderation in simulated time,
 * steps of the timeline, and an EQ that changes.
 */
import t from 'tap';
import {
  COMPLETION_ENTRY_SIZE,
  setCompletionEntryQpn,
  setCompletionEntryQueueSequence,
} from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import { EventType } from '../../../../protocol/layout/gen/values.gen.ts';
import { CqFieldSelect, QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Step, type Timeline } from '../../../hca/function/timeline.ts';
import { EventCause, NoEvent } from '../../../hca/function/timeline-values.ts';
import { CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';
import type { Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';

const PERIOD_US = 50;
const PERIOD_NS = PERIOD_US * 1000;

t.test('a process that arms without end has one event in the EQ', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  fixture.post(cq, 1);
  for (let round = 0; round < 1000; round++) {
    cq.noteEvent();
    cq.arm();
  }
  t.equal(fixture.deviceEvents().pendingEntries, 1);
  t.same(fixture.takeEvents(), [cq.number]);
  t.same(fixture.takeEvents(), [cq.number], 'the next one comes when that one was taken');
  t.same(fixture.takeEvents(), []);
  cq.noteEvent();
  cq.arm();
  cq.noteEvent();
  cq.arm();
  fixture.driver.device.hca.completionQueues.remove(fixture.deviceQueue(cq));
  t.same(fixture.takeEvents(), [cq.number]);
  t.same(fixture.takeEvents(), [], 'a queue that is gone wants no event');
});

t.test('completion events wait for room in their EQ, and overrun it never', async (t) => {
  const fixture = new CompletionFixture({ logEvents: 2 });
  const queues = Array.from({ length: 11 }, () => fixture.create({ logCqSize: 0 }));
  fixture.takeEvents();
  for (const cq of queues) {
    cq.arm();
    fixture.post(cq, 1);
  }
  t.equal(fixture.deviceEvents().pendingEntries, 4);
  const seen: number[] = [];
  for (let round = 0; round < 3; round++) seen.push(...fixture.takeEvents());
  t.same(
    seen,
    queues.map(({ number }) => number),
    'the longest waiting first',
  );
  t.equal(fixture.deviceEvents().status, QueueStatus.OK);
  t.equal(fixture.interrupts(), 3, 'one for each turn of software');
});

t.test('an event that stands in the EQ is found after its turns, too', async (t) => {
  const fixture = new CompletionFixture({ logEvents: 1 });
  const cq = fixture.create({ logCqSize: 6 });
  for (let value = 1; value <= 40; value++) {
    cq.arm();
    fixture.post(cq, value);
    t.same(fixture.takeEvents(), [cq.number]);
    t.equal(cq.take().length, 1);
  }
});

t.test('an event waits for the taking of the last one of its CQ, not of others', async (t) => {
  const fixture = new CompletionFixture();
  const [first, second] = [fixture.create(), fixture.create()];
  for (const cq of [first, second]) {
    cq.arm();
    fixture.post(cq, 1);
    cq.noteEvent();
    cq.arm();
  }
  const events = fixture.deviceEvents();
  t.equal(events.pendingEntries, 2, 'both have one there and one that waits');
  fixture.events.consumed = 1;
  fixture.driver.arm(fixture.events);
  t.equal(events.pendingEntries, 2, 'that of the first comes');
  fixture.events.consumed = 2;
  fixture.driver.arm(fixture.events);
  t.equal(events.pendingEntries, 2, 'and that of the second');
  t.same(fixture.takeEvents(), [first.number, second.number]);
});

t.test('an event of 2^32 events ago holds none back', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  cq.arm();
  fixture.post(cq, 1);
  fixture.takeEvents();
  const events = fixture.deviceEvents();
  events.producerIndex = 0;
  events.consumerIndex = 0;
  cq.arm();
  t.equal(events.pendingEntries, 1);
});

t.test('a CQ whose EQ has failed goes on without events', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  fixture.deviceEvents().status = QueueStatus.WRITE_FAILURE;
  cq.arm();
  t.ok(fixture.post(cq, 1));
  t.same(fixture.takeEvents(), []);
});

t.test('another EQ takes the events, with the one that waits', async (t) => {
  const fixture = new CompletionFixture();
  const other = fixture.driver.createEventQueue(fixture.events.uar, 0n, 4, 2);
  const cq = fixture.create();
  const move = (events = other): void =>
    fixture.modify(cq, 1 << CqFieldSelect.EQN, { cEqnOrApuElement: events.number });
  cq.arm();
  move();
  fixture.post(cq, 1);
  t.same([fixture.takeEvents(), fixture.takeEvents(other)], [[], [cq.number]]);
  cq.arm();
  cq.noteEvent();
  cq.arm();
  t.equal(fixture.deviceEvents(other).pendingEntries, 1, 'the second one waits');
  move(other);
  t.equal(fixture.deviceEvents(other).pendingEntries, 1, 'the same EQ: nothing changes');
  move(fixture.events);
  t.same([fixture.takeEvents(), fixture.takeEvents(other)], [[cq.number], [cq.number]]);
  t.same([fixture.takeEvents(), fixture.takeEvents(other)], [[], []]);
  t.same([fixture.deviceEvents().users, fixture.deviceEvents(other).users], [1, 0]);
});

t.test('events of the old EQ hold none back in another one', async (t) => {
  const fixture = new CompletionFixture();
  const other = fixture.driver.createEventQueue(fixture.events.uar, 0n);
  const cq = fixture.create();
  for (const one of [cq, fixture.create({ logCqSize: 3 }, other)]) {
    one.arm();
    fixture.post(one, 1);
  }
  fixture.modify(cq, 1 << CqFieldSelect.EQN, { cEqnOrApuElement: other.number });
  cq.noteEvent();
  cq.arm();
  t.equal(fixture.deviceEvents(other).pendingEntries, 2);
});

t.test('resizing is no completion: it raises no event, then or later', async (t) => {
  for (const solicited of [false, true]) {
    const fixture = new CompletionFixture();
    const cq = fixture.create();
    fixture.post(cq, 1, true);
    cq.take();
    cq.arm({ solicited });
    cq.resize({ logCqSize: 4 }).finish();
    fixture.modify(cq, 0, {});
    t.same(fixture.takeEvents(), []);
    cq.arm({ solicited });
    t.same(fixture.takeEvents(), []);
    fixture.post(cq, 2, true);
    t.same(fixture.takeEvents(), [cq.number], 'the queue is still armed');
  }
});

/** A CQ with moderation. */
class ModeratedFixture extends CompletionFixture {
  readonly cq: Mlx5DriverCompletionQueue;

  constructor(cqMaxCount: number, cqPeriod = PERIOD_US) {
    super();
    this.cq = this.create({ logCqSize: 8, cqMaxCount, cqPeriod });
  }

  /** Posts so many entries without letting time pass; returns the number of new events. */
  complete(count: number, solicited = false): number {
    for (let value = 0; value < count; value++) this.post(this.cq, value, solicited);
    return this.takeEvents().length;
  }

  /** Lets time pass; returns the number of new events. */
  wait(ns: number): number {
    this.driver.machine.clock.advance(ns);
    this.driver.machine.runUntilIdle();
    return this.takeEvents().length;
  }

  moderate(cqMaxCount: number, cqPeriod: number): number {
    this.modify(this.cq, (1 << CqFieldSelect.PERIOD) | (1 << CqFieldSelect.MAX_COUNT), { cqMaxCount, cqPeriod });
    return this.takeEvents().length;
  }
}

t.test('an event waits for so many unseen entries', async (t) => {
  const moderated = new ModeratedFixture(4);
  moderated.cq.arm();
  t.equal(moderated.complete(3), 0);
  t.equal(moderated.complete(1), 1, 'the fourth ends the wait');
  t.equal(moderated.wait(PERIOD_NS * 2), 0, 'no timer is left');
  moderated.cq.take();
  moderated.cq.arm();
  t.equal(moderated.complete(9), 1);
});

t.test('an event waits no longer than its time, counted from the first entry', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.cq.arm();
  t.equal(moderated.wait(PERIOD_NS * 3), 0, 'nothing has completed');
  t.equal(moderated.complete(1), 0);
  t.equal(moderated.wait(PERIOD_NS / 2), 0);
  t.equal(moderated.complete(1), 0);
  t.equal(moderated.wait(PERIOD_NS / 2 - 1), 0);
  t.equal(moderated.wait(1), 1);
  t.equal(moderated.wait(PERIOD_NS * 2), 0, 'once');
  moderated.cq.take(1);
  moderated.cq.arm();
  t.equal(moderated.wait(0), 1, 'the second one has waited for longer than that');
});

t.test('the device asks for a pass at the end of the wait', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.cq.arm();
  t.equal(moderated.complete(2), 0);
  moderated.driver.machine.runUntil(() => moderated.deviceEvents().pendingEntries > 0, 'the event');
  t.same(moderated.takeEvents(), [moderated.cq.number]);
});

t.test('without a period or a count no event waits; a change lets the one go that did', async (t) => {
  for (const [count, periodUs] of [
    [0, PERIOD_US],
    [4, 0],
    [1, PERIOD_US],
  ]) {
    const moderated = new ModeratedFixture(count, periodUs);
    moderated.cq.arm();
    t.equal(moderated.complete(1), 1, `count ${count}, period ${periodUs}`);
    moderated.cq.take();
    t.equal(moderated.moderate(4, PERIOD_US), 0);
    moderated.cq.arm();
    t.equal(moderated.complete(1), 0);
    t.equal(moderated.moderate(count, periodUs), 1);
    t.equal(moderated.wait(PERIOD_NS * 2), 0);
  }
});

t.test('a change raises no event that nobody has asked for', async (t) => {
  const moderated = new ModeratedFixture(0, 0);
  t.equal(moderated.complete(2, true), 0, 'not armed');
  t.same([moderated.moderate(4, PERIOD_US), moderated.moderate(0, 0)], [0, 0]);
  moderated.cq.take();
  moderated.cq.arm({ solicited: true });
  t.equal(moderated.complete(1), 0, 'an entry that is not solicited');
  t.same([moderated.moderate(4, PERIOD_US), moderated.moderate(0, 0)], [0, 0]);
  t.equal(moderated.complete(1, true), 1);
});

t.test('a new period applies to the event that waits', async (t) => {
  for (const [periodUs, left] of [
    [2 * PERIOD_US, (PERIOD_NS * 3) / 2],
    [PERIOD_US / 2, 0],
  ]) {
    const moderated = new ModeratedFixture(100);
    moderated.cq.arm();
    moderated.complete(1);
    t.equal(moderated.wait(PERIOD_NS / 2), 0);
    const now = moderated.moderate(100, periodUs);
    t.equal(now, left === 0 ? 1 : 0, `${periodUs} us`);
    if (left > 0) t.same([moderated.wait(left - 1), moderated.wait(1)], [0, 1], `${periodUs} us`);
  }
});

t.test('a request for solicited entries is moderated, too', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.cq.arm({ solicited: true });
  t.equal(moderated.complete(1), 0);
  t.equal(moderated.wait(PERIOD_NS / 2), 0);
  t.equal(moderated.complete(1, true), 0);
  t.equal(moderated.wait(PERIOD_NS / 2), 1, 'the first unseen entry counts');
});

t.test('software that has taken what an event waits for gets none', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.cq.arm();
  t.equal(moderated.complete(1), 0);
  moderated.cq.take();
  moderated.cq.arm();
  t.equal(moderated.wait(PERIOD_NS), 0);
  t.equal(moderated.complete(1), 0);
  t.equal(moderated.wait(PERIOD_NS), 1, 'the next entry has its event');
});

t.test('entries that have moved to another ring wait no longer than others', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.complete(1);
  moderated.wait(PERIOD_NS / 2);
  moderated.complete(1);
  moderated.cq.resize({ logCqSize: 4 }).finish();
  moderated.cq.arm();
  t.equal(moderated.wait(PERIOD_NS / 2), 1);
});

t.test('a queue without moderation has none in another ring either', async (t) => {
  for (const [count, periodUs] of [
    [0, PERIOD_US],
    [4, 0],
  ]) {
    const moderated = new ModeratedFixture(count, periodUs);
    moderated.cq.resize({ logCqSize: 4 }).finish();
    moderated.cq.arm();
    t.equal(moderated.complete(1), 1, `count ${count}, period ${periodUs}`);
  }
});

t.test('a CQ that is destroyed or reset while its event waits posts none', async (t) => {
  const moderated = new ModeratedFixture(100);
  moderated.cq.arm();
  moderated.complete(1);
  moderated.driver.device.hca.completionQueues.remove(moderated.deviceQueue(moderated.cq));
  t.equal(moderated.wait(PERIOD_NS * 2), 0);
  const reset = new ModeratedFixture(100);
  reset.cq.arm();
  reset.complete(1);
  reset.driver.machine.reset(0, 'software');
  reset.driver.machine.clock.advance(PERIOD_NS * 2);
  reset.driver.machine.runUntilIdle();
  t.equal(reset.deviceEvents(), undefined);
});

t.test('the timeline tells why an entry has an event, or none', async (t) => {
  const fixture = new CompletionFixture();
  const steps: number[][] = [];
  const timeline: Timeline = { note: (...step) => steps.push(step.map((value) => value ?? 0)) };
  fixture.driver.device.underlying.timeline = timeline;
  const cq = fixture.create({ logCqSize: 4, cqMaxCount: 4, cqPeriod: PERIOD_US });
  const cqn = cq.number;
  const eqn = fixture.events.number;
  const noted = (run: () => void): number[][] => {
    steps.length = 0;
    run();
    return steps.splice(0);
  };
  t.same(steps, [[Step.CQ_BEGIN, 0, cqn]]);
  const none = (count: number, reason: NoEvent): number[] => [Step.NO_EVENT, 0, cqn, count, reason];
  t.same(
    noted(() => fixture.post(cq, 1)),
    [none(1, NoEvent.UNARMED)],
  );
  cq.take();
  t.same(
    noted(() => cq.arm({ solicited: true })),
    [[Step.ARM, 0, cqn, 1, 1]],
  );
  t.same(
    noted(() => fixture.post(cq, 2)),
    [none(2, NoEvent.SOLICITED_ONLY)],
  );
  t.same(
    noted(() => cq.arm()),
    [[Step.ARM, 0, cqn, 1, 0], none(2, NoEvent.MODERATED)],
  );
  t.same(
    noted(() => fixture.driver.machine.runUntil(() => fixture.deviceEvents().pendingEntries > 0, 'the event')),
    [[Step.EQE, 0, eqn, EventType.COMPLETION, cqn, 2, 1, EventCause.TIME]],
  );
  t.same(
    noted(() => fixture.post(cq, 3)),
    [none(3, NoEvent.TRIGGERED)],
  );
  const work = new DataView(new ArrayBuffer(COMPLETION_ENTRY_SIZE));
  setCompletionEntryQpn(work, 0, 77);
  setCompletionEntryQueueSequence(work, 0, 8);
  t.same(
    noted(() => {
      fixture.deviceQueue(cq).begin();
      fixture.deviceQueue(cq).post(false, work);
    }),
    [[Step.SEND_COMPLETION, 0, 77, 8, cqn, 4], none(4, NoEvent.TRIGGERED)],
    'what the entry is of stands before its event',
  );
  fixture.deviceEvents().status = QueueStatus.OVERFLOW;
  fixture.takeEvents();
  t.same(
    noted(() => cq.arm()),
    [[Step.ARM, 0, cqn, 1, 0], none(4, NoEvent.QUEUE_FAILED)],
  );
});
