// SPDX-License-Identifier: Apache-2.0
/**
 * Events of CQs that move between event queues (MODIFY_CQ; IBTA 11.2.5; IPCOM000126453D par. 2): an
 * event that is due and found no way to its old queue is posted to the new one, once.
 */
import t from 'tap';
import { decodeCqAttributes, newCqAttributes } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { decodeEqAttributes, newEqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { CqMask, ManagementOpcode, NotifyState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import type { DriverEventQueue } from '../../rig/driver/event-queue.ts';
import { cqPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/event-queue-fixture.ts';

const PERIOD_US = 10;
const PERIOD_NS = 1000 * PERIOD_US;

/** Two event queues, and a CQ that reports to the first one. */
class MovingQueue {
  readonly fixture: AdapterFixture;
  readonly queues: readonly DriverEventQueue[];
  readonly cq: DriverCompletionQueue;
  readonly #qp: DriverQueuePair;

  constructor(fixture = new AdapterFixture()) {
    this.fixture = fixture;
    this.queues = [20, 21].map((vector) => fixture.driver.createEventQueue({ entriesLog2: 1, vector }));
    this.cq = fixture.driver.createCompletionQueue({ eventQueue: this.queues[0], entriesLog2: 10 });
    this.#qp = fixture.createQueuePair({ sendCq: this.cq });
  }

  modify(attributeMask: number, attributes: object = {}): void {
    const payload = cqPayload({ attributeMask, ...attributes });
    this.fixture.driver.management.perform({
      opcode: ManagementOpcode.MODIFY_CQ,
      objectNumber: this.cq.cqn,
      payload,
    });
  }

  move(to: DriverEventQueue | undefined): void {
    this.modify(CqMask.EVENT_QUEUE, { eventQueue: to?.eqn ?? 0 });
    this.fixture.settle();
  }

  moderate(moderationPeriodUs: number): void {
    this.modify(CqMask.MODERATION, { moderationPeriodUs });
  }

  complete(): void {
    this.#qp.post(NOP);
    this.fixture.settle();
  }

  wait(ns: number): void {
    this.fixture.machine.clock.advance(ns);
    this.fixture.settle();
  }

  query() {
    const { management } = this.fixture.driver;
    const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_CQ, objectNumber: this.cq.cqn });
    return decodeCqAttributes(payload, 0, newCqAttributes());
  }

  queryEvents(queue: DriverEventQueue) {
    const { management } = this.fixture.driver;
    const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: queue.eqn });
    return decodeEqAttributes(payload, 0, newEqAttributes());
  }
}

/** Each brings the CQ to an event that is due and cannot be posted. */
const obstacles: Readonly<Record<string, (moving: MovingQueue) => void>> = {
  'no event queue': (moving) => {
    moving.move(undefined);
    moving.cq.notify();
    moving.complete();
  },
  'EQ pending': (moving) => {
    moving.cq.notify();
    moving.complete();
    moving.queues[0].walk();
    moving.cq.notify({ clearPending: false });
    moving.complete();
  },
  'an event queue in error': (moving) => {
    for (let count = 0; count < 3; count++) {
      moving.cq.notify();
      moving.complete();
    }
    moving.queues[0].walk();
  },
  'moderation that has ended': (moving) => {
    moving.move(undefined);
    moving.moderate(PERIOD_US);
    moving.cq.notify();
    moving.complete();
    moving.wait(2 * PERIOD_NS);
  },
};

for (const [obstacle, obstruct] of Object.entries(obstacles))
  for (const [way, path] of [
    ['', [1]],
    [' by way of no queue', [undefined, 1]],
  ] as const)
    t.test(`an event that waits because of ${obstacle} goes to the new queue${way}`, async (t) => {
      const moving = new MovingQueue();
      const [from, to] = moving.queues;
      obstruct(moving);
      t.equal(moving.query().notifyState, NotifyState.ARMED_ALL);
      for (const step of path) moving.move(step === undefined ? undefined : moving.queues[step]);
      t.same(
        to.walk().map(({ objectNumber }) => objectNumber),
        [moving.cq.cqn],
      );
      t.match(moving.query(), { notifyState: NotifyState.TRIGGERED, eqPending: 1 });
      t.same(
        moving.queues.map((queue) => moving.queryEvents(queue).completionEventCounter),
        [0, 1],
      );
      t.equal(from.walk().length, 0);
      moving.fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_EQ, objectNumber: from.eqn });
      moving.cq.drain();
      moving.cq.notify();
      moving.complete();
      t.equal(to.walk().length, moving.query().moderationPeriodUs > 0 ? 0 : 1, 'later events go on as ever');
      moving.fixture.finish();
    });

t.test('a move to the queue that the CQ has clears EQ pending, and the event that waited comes', async (t) => {
  const moving = new MovingQueue();
  obstacles['EQ pending'](moving);
  moving.move(moving.queues[0]);
  t.equal(moving.queues[0].walk().length, 1);
  t.equal(moving.queryEvents(moving.queues[0]).completionEventCounter, 1);
  moving.fixture.finish();
});

t.test('a move posts nothing that is not due', async (t) => {
  const cases: Readonly<Record<string, (moving: MovingQueue) => void>> = {
    'not armed': (moving) => moving.complete(),
    'no completion': (moving) => moving.cq.notify(),
    'not solicited': (moving) => {
      moving.cq.notify({ solicitedOnly: true });
      moving.complete();
    },
    seen: (moving) => {
      moving.complete();
      moving.cq.drain();
      moving.cq.notify();
    },
    'told, and not armed again': (moving) => {
      moving.cq.notify();
      moving.complete();
      moving.complete();
      t.equal(moving.queues[0].walk().length, 1);
    },
  };
  for (const [name, prepare] of Object.entries(cases)) {
    const moving = new MovingQueue();
    prepare(moving);
    moving.move(moving.queues[1]);
    for (const queue of moving.queues) t.equal(queue.walk().length, 0, name);
    t.equal(moving.queryEvents(moving.queues[0]).completionEventCounter, 0, name);
    moving.fixture.finish();
  }
});

t.test('a moderated event that moves waits as long as it would have waited', async (t) => {
  const moving = new MovingQueue();
  moving.moderate(PERIOD_US);
  moving.cq.notify();
  moving.complete();
  moving.wait(PERIOD_NS - 1);
  moving.move(moving.queues[1]);
  t.equal(moving.queues[1].walk().length, 0);
  moving.wait(1);
  t.equal(moving.queues[1].walk().length, 1);
  t.equal(moving.queues[0].walk().length, 0);
  moving.fixture.finish();
});

/** Random requests, moves and completions. Returns what went wrong. */
function findStranded(seed: number): string | undefined {
  const random = new Random(seed);
  const moving = new MovingQueue(new AdapterFixture({ seed }));
  let requested = 0;
  const actions: Readonly<Record<string, () => void>> = {
    complete: () => moving.complete(),
    move: () => moving.move(moving.queues[random.below(3)]),
    moderate: () => moving.moderate(random.pick([0, 0, PERIOD_US])),
    wait: () => moving.wait(random.pick([1, PERIOD_NS / 2, PERIOD_NS])),
    poll: () => void moving.cq.drain(),
    arm: () => {
      requested = moving.cq.consumed;
      moving.cq.notify({ clearPending: random.oneIn(2) });
    },
    clear: () => moving.cq.notify({ clearOnly: true }),
  };
  const names = Object.keys(actions);
  for (let step = 0; step < 60; step++) {
    const name = random.pick(names);
    actions[name]();
    moving.fixture.settle();
    for (const queue of moving.queues) queue.walk();
    const { notifyState, eqPending, eventQueue, moderationPeriodUs, producerCount } = moving.query();
    const canPost = eqPending === 0 && eventQueue !== 0 && moderationPeriodUs === 0;
    const isDue = notifyState === NotifyState.ARMED_ALL && producerCount > requested;
    if (canPost && isDue) return `seed ${seed}, step ${step}, ${name}: an event is due and was not posted`;
  }
  moving.moderate(0);
  moving.move(moving.queues[0]);
  moving.cq.drain();
  moving.cq.notify();
  moving.complete();
  return moving.queues[0].ready ? undefined : `seed ${seed}: no event in the end`;
}

t.test('whatever happens to a CQ, an event that is due and can be posted is posted', async (t) => {
  for (let seed = 1; seed <= 12; seed++) t.equal(findStranded(seed), undefined);
});
