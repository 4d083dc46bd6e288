// SPDX-License-Identifier: Apache-2.0
/**
 * Moderation of completion events: an event waits for completions or for its time, none is lost,
 * and software that asks again is told of what it has not seen.
 */
import t from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CqMask, ManagementOpcode, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import { cqPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const PERIOD_US = 50;
const PERIOD_NS = PERIOD_US * 1000;

/** A CQ with an EQ, moderated, and a QP that completes there. */
class ModeratedFixture {
  readonly fixture: AdapterFixture;
  readonly cq: DriverCompletionQueue;
  readonly #qp: DriverQueuePair;

  constructor(count: number, periodUs = PERIOD_US, fixture = new AdapterFixture()) {
    this.fixture = fixture;
    this.cq = this.fixture.createCompletionQueue({ entriesLog2: 8, eventQueue: this.fixture.events });
    this.#qp = this.fixture.createQueuePair({ sendCq: this.cq, sendEntriesLog2: 8 });
    this.moderate(count, periodUs);
  }

  moderate(moderationCount: number, moderationPeriodUs: number): void {
    const payload = cqPayload({ attributeMask: CqMask.MODERATION, moderationCount, moderationPeriodUs });
    const command = { opcode: ManagementOpcode.MODIFY_CQ, objectNumber: this.cq.cqn, payload };
    if (this.fixture.driver.management.execute(command).status !== ManagementStatus.OK) throw new Error('refused');
  }

  /** Completes so many commands without letting time pass; returns the number of new events. */
  complete(count: number): number {
    for (let posted = 0; posted < count; posted++) this.#qp.post(NOP);
    this.fixture.settle();
    return this.events();
  }

  /** Lets time pass; returns the number of new events. */
  wait(ns: number): number {
    this.fixture.machine.clock.advance(ns);
    this.fixture.settle();
    return this.events();
  }

  events(): number {
    return this.fixture.events.walk().length;
  }
}

t.test('an event waits for so many unseen completions', async (t) => {
  const moderated = new ModeratedFixture(4);
  moderated.cq.notify();
  t.equal(moderated.complete(3), 0);
  t.equal(moderated.complete(1), 1, 'the fourth ends the wait');
  t.equal(moderated.wait(PERIOD_NS * 2), 0, 'no timer is left');
  moderated.cq.drain();
  moderated.cq.notify();
  t.equal(moderated.complete(9), 1);
  moderated.fixture.finish();
});

t.test('an event waits no longer than its time, counted from the first completion', async (t) => {
  for (const count of [0, 4]) {
    const moderated = new ModeratedFixture(count);
    moderated.cq.notify();
    t.equal(moderated.wait(PERIOD_NS * 3), 0, 'nothing has completed');
    t.equal(moderated.complete(1), 0);
    t.equal(moderated.wait(PERIOD_NS / 2), 0);
    t.equal(moderated.complete(1), 0);
    t.equal(moderated.wait(PERIOD_NS / 2), 1);
    t.equal(moderated.wait(PERIOD_NS * 2), 0, 'once');
    moderated.fixture.finish();
  }
});

t.test('the period counts from the first unseen completion, however software asks for the event', async (t) => {
  for (const [how, ask] of [
    ['arming', ({ cq }: ModeratedFixture) => cq.notify()],
    ['clearing', ({ cq }: ModeratedFixture) => cq.notify({ clearOnly: true })],
  ] as const)
    for (const age of [0, 1, PERIOD_NS / 2, PERIOD_NS - 1, PERIOD_NS, PERIOD_NS * 100]) {
      const moderated = new ModeratedFixture(0);
      if (how === 'clearing') {
        moderated.cq.notify();
        moderated.complete(1);
        t.equal(moderated.wait(PERIOD_NS), 1);
        moderated.cq.drain();
        moderated.cq.notify({ clearPending: false });
      }
      t.equal(moderated.complete(1), 0);
      t.equal(moderated.wait(age), 0);
      ask(moderated);
      const left = PERIOD_NS - age;
      if (left > 0) t.equal(moderated.wait(left - 1), 0, `${how}, ${age} ns old: not before its time`);
      t.equal(moderated.wait(left > 0 ? 1 : 0), 1, `${how}, ${age} ns old`);
      moderated.fixture.finish();
    }
});

t.test('the first completion that software has not seen counts, not the first of all', async (t) => {
  const moderated = new ModeratedFixture(0);
  for (let index = 0; index < 4; index++) {
    t.equal(moderated.complete(1), 0);
    t.equal(moderated.wait(PERIOD_NS / 8), 0);
  }
  moderated.cq.poll();
  moderated.cq.poll();
  moderated.cq.notify();
  t.equal(moderated.wait((PERIOD_NS * 6) / 8 - 1), 0);
  t.equal(moderated.wait(1), 1, 'the third one was posted after two eighths of a period');
  moderated.fixture.finish();
});

t.test('the first unseen one counts for a request for solicited completions, too', async (t) => {
  const fixture = new AdapterFixture();
  const receiveCq = fixture.createCompletionQueue({ entriesLog2: 6, eventQueue: fixture.events });
  const { sender, receiver, to } = fixture.createPair({ receiver: { receiveCq } });
  fixture.driver.management.perform({
    opcode: ManagementOpcode.MODIFY_CQ,
    objectNumber: receiveCq.cqn,
    payload: cqPayload({ attributeMask: CqMask.MODERATION, moderationPeriodUs: PERIOD_US }),
  });
  receiveCq.notify({ solicitedOnly: true });
  for (const [solicited, events] of [
    [false, 0],
    [true, 0],
  ] as const) {
    fixture.postReceive(receiver, 64);
    sender.post(to({ solicited, inline: Uint8Array.of(1) }));
    fixture.settle();
    t.equal(fixture.events.walk().length, events);
    fixture.machine.clock.advance(PERIOD_NS / 2);
  }
  fixture.settle();
  t.equal(fixture.events.walk().length, 1);
  fixture.finish();
});

t.test('a new period applies to the event that waits', async (t) => {
  for (const [periodUs, left] of [
    [2 * PERIOD_US, (PERIOD_NS * 3) / 2],
    [PERIOD_US, PERIOD_NS / 2],
    [PERIOD_US / 2, 0],
  ] as const) {
    const moderated = new ModeratedFixture(0);
    moderated.cq.notify();
    moderated.complete(1);
    t.equal(moderated.wait(PERIOD_NS / 2), 0);
    moderated.moderate(0, periodUs);
    if (left > 0) t.equal(moderated.wait(left - 1), 0, `${periodUs} us`);
    t.equal(moderated.wait(left > 0 ? 1 : 0), 1, `${periodUs} us`);
    moderated.fixture.finish();
  }
});

t.test('software that sets local time does not change a wait', async (t) => {
  const moderated = new ModeratedFixture(0);
  moderated.cq.notify();
  moderated.complete(1);
  for (const high of [0x7fffffff, 0]) {
    moderated.fixture.access.writeRegister(CSR.LOCAL_TIME, 8, 0, high);
    t.equal(moderated.wait(PERIOD_NS / 2 - 1), 0);
  }
  t.equal(moderated.wait(2), 1);
  moderated.fixture.finish();
});

t.test('the adapter asks for a pass at the end of the wait', async (t) => {
  const moderated = new ModeratedFixture(0);
  moderated.cq.notify();
  t.equal(moderated.complete(2), 0);
  moderated.fixture.machine.runUntil(() => moderated.fixture.events.ready, 'the event');
  t.equal(moderated.events(), 1);
  moderated.fixture.finish();
});

t.test('software that arms with unseen completions is told of them; of those that it has seen it is not', async (t) => {
  const moderated = new ModeratedFixture(4);
  moderated.cq.notify();
  t.equal(moderated.complete(4), 1);
  moderated.cq.poll();
  moderated.cq.notify();
  t.equal(moderated.events(), 0, 'three are unseen');
  t.equal(moderated.wait(PERIOD_NS), 1);
  moderated.cq.notify();
  t.equal(moderated.events(), 1, 'they have waited for a period');
  moderated.cq.drain();
  moderated.cq.notify();
  t.equal(moderated.wait(PERIOD_NS * 2), 0);
  moderated.fixture.finish();
});

t.test('without a period no event waits; the end of moderation posts the one that did', async (t) => {
  const moderated = new ModeratedFixture(4, 0);
  moderated.cq.notify();
  t.equal(moderated.complete(1), 1);
  moderated.cq.drain();
  moderated.moderate(4, PERIOD_US);
  moderated.cq.notify();
  t.equal(moderated.complete(1), 0);
  moderated.moderate(0, 0);
  t.equal(moderated.events(), 1);
  t.equal(moderated.wait(PERIOD_NS * 2), 0);
  moderated.fixture.finish();
});

t.test('a CQ that is destroyed or reset while its event waits posts none', async (t) => {
  const fixtures = [0, 1, 2].map(() => new ModeratedFixture(0));
  const [first, , last] = fixtures as [ModeratedFixture, ModeratedFixture, ModeratedFixture];
  for (const moderated of fixtures) {
    moderated.cq.notify();
    t.equal(moderated.complete(1), 0);
  }
  first.fixture.driver.reset();
  t.equal(first.wait(PERIOD_NS * 2), 0);
  t.equal(last.wait(PERIOD_NS * 2), 1);
});

/** Moderated CQs of one adapter, each armed and with an unseen completion, whose events wait. */
function holdEvents(count: number, moderationCount: number): ModeratedFixture[] {
  const fixture = new AdapterFixture();
  const all = Array.from({ length: count }, () => new ModeratedFixture(moderationCount, PERIOD_US, fixture));
  for (const moderated of all) {
    moderated.cq.notify();
    t.equal(moderated.complete(1), 0);
  }
  return all;
}

t.test('queues whose events wait leave in any order, and others keep their place', async (t) => {
  for (const order of [
    [0, 2, 1, 3],
    [0, 3, 1, 2],
    [1, 3, 0, 2],
    [3, 0, 2, 1],
  ]) {
    const all = holdEvents(4, 2);
    for (const index of order.slice(0, 3))
      t.equal(all[index].complete(1), 1, `order ${order}: the count ends the wait of ${index}`);
    t.equal(all[0].wait(PERIOD_NS), 1, `order ${order}: time ends the last one`);
    t.equal(all[0].wait(PERIOD_NS), 0);
    all[0].fixture.finish();
  }
});

t.test('waits that begin after others have left end in their time', async (t) => {
  const all = holdEvents(3, 2);
  t.equal(all[0].complete(1), 1);
  t.equal(all[2].complete(1), 1);
  all[2].cq.drain();
  all[2].cq.notify();
  t.equal(all[2].complete(1), 0);
  const payload = cqPayload({ attributeMask: CqMask.MODERATION });
  const command = { opcode: ManagementOpcode.MODIFY_CQ, objectNumber: all[1].cq.cqn, payload };
  all[1].fixture.driver.management.perform(command);
  t.equal(all[1].events(), 1, 'the end of moderation');
  t.equal(all[2].wait(PERIOD_NS), 1);
  all[2].fixture.finish();
});

t.test('no event waits while an earlier one is pending; then it waits for the rest of the period', async (t) => {
  const moderated = new ModeratedFixture(0);
  const { cq, fixture } = moderated;
  cq.notify();
  moderated.complete(1);
  t.equal(moderated.wait(PERIOD_NS), 1);
  cq.drain();
  cq.notify({ clearPending: false });
  t.equal(moderated.complete(1), 0);
  t.equal(fixture.machine.clock.alarmNs, Number.POSITIVE_INFINITY, 'the adapter needs no pass');
  t.equal(moderated.wait(PERIOD_NS / 2), 0);
  cq.notify({ clearOnly: true });
  t.equal(moderated.wait(PERIOD_NS / 4), 0);
  t.equal(moderated.wait(PERIOD_NS / 4), 1);
  fixture.finish();
});
