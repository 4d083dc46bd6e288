// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue with a delay under rising load (IPCOM000126453D par. 1-4): a slow driver, and
 * completions that come faster and faster. As `npm run demo -- interrupts`, in simulated time.
 */
import type { EventQueue } from '../../../device/hca/events/event-queue.ts';
import type { DriverCompletionQueue } from '../../../device/rig/driver/completion-queue.ts';
import { EventQueueFixture, NOP } from '../../../device/rig/fixtures/event-queue-fixture.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { planAdapter, planAlone, type Scene, type SceneStop, type Seen } from '../scene.ts';

const QUEUES = 8;
const DELAY_NS = 30_000;
/** Time from an interrupt to the driver, and its time for one CQ. */
const WAKE_NS = 5000;
const SERVE_NS = 2000;
/** Number of completions, and time between two. */
const PHASES = [
  { completions: 8, gapNs: 40_000 },
  { completions: 40, gapNs: 4000 },
  { completions: 2400, gapNs: 250 },
] as const;
/** Interrupts of a late driver after which its load is full. */
const FULL_LOAD = 10;
const QUIET = PHASES[0].completions;

/**
 * The driver of the event queue: an interrupt wakes it, and it serves CQs until none has new
 * completions.
 */
class Handler {
  /** Time of its next act; Infinity while it waits for an interrupt. */
  atNs = Number.POSITIVE_INFINITY;
  readonly #fixture: EventQueueFixture;
  readonly #waiting: DriverCompletionQueue[] = [];
  #interrupts = 0;

  constructor(fixture: EventQueueFixture) {
    this.#fixture = fixture;
  }

  /** Checks whether an interrupt has come. One that comes while it works has no effect. */
  listen(nowNs: number): void {
    const { interrupts } = this.#fixture;
    if (interrupts > this.#interrupts && this.atNs === Number.POSITIVE_INFINITY) this.atNs = nowNs + WAKE_NS;
    this.#interrupts = interrupts;
  }

  /** Takes new events, and serves the CQ of the oldest. */
  serve(): void {
    const { events, queues } = this.#fixture;
    for (const { objectNumber } of events.walk())
      this.#waiting.push(queues.find(({ cqn }) => cqn === objectNumber) as DriverCompletionQueue);
    const next = this.#waiting.shift();
    next?.drain();
    next?.notify({ clearPending: true });
    this.atNs = next === undefined ? Number.POSITIVE_INFINITY : this.atNs + SERVE_NS;
  }
}

function play({ machine }: RecordedFabric): void {
  const fixture = new EventQueueFixture({ delayNs: DELAY_NS }, QUEUES, { machine });
  const handler = new Handler(fixture);
  const { clock } = machine;
  const advance = (atNs: number, act: () => void): void => {
    clock.advance(Math.max(0, atNs - clock.now()));
    act();
    machine.runUntilIdle();
    handler.listen(clock.now());
  };
  for (const { completions, gapNs } of PHASES) {
    for (let done = 0; done < completions; done++) {
      const postNs = clock.now() + gapNs;
      while (handler.atNs <= postNs) advance(handler.atNs, () => handler.serve());
      advance(postNs, () => void machine.random.pick(fixture.qps).post(NOP));
    }
  }
  while (handler.atNs < Number.POSITIVE_INFINITY) advance(handler.atNs, () => handler.serve());
}

/** The event queue of the scene, which alone has summary bytes. */
function look(seen: Seen): EventQueue {
  let found: EventQueue | undefined;
  seen.adapter('a').tables.eventQueues.forEach((queue) => {
    if (queue.secondarySummaryCount > 0) found = queue;
  });
  return found as EventQueue;
}

function has(seen: Seen, condition: (queue: EventQueue) => boolean): boolean {
  const queue = look(seen) as EventQueue | undefined;
  return queue !== undefined && condition(queue);
}

function makeStops(): readonly SceneStop[] {
  const common = { adapter: 'a', part: 'events' } as const;
  return [
    {
      ...common,
      title: 'The first event',
      when: (seen) => has(seen, ({ producerCount }) => producerCount === 1),
      says: (seen) => {
        const { completionEventCounter, interrupts, timer } = look(seen);
        return [
          `The event queue was empty, so its first event asks for an interrupt: ${interrupts}. The completion event counter goes from 0 to ${completionEventCounter}.`,
          `The stamp becomes local time plus a delay of ${DELAY_NS / 1000} µs: ${joinDwords(timer.stampLow, timer.stampHigh)} ns. No timer runs.`,
        ];
      },
      source: 'IPCOM000126453D par. 1, 3',
    },
    {
      ...common,
      title: 'Little load: an interrupt for each event',
      when: (seen) => has(seen, ({ producerCount }) => producerCount === QUIET),
      says: (seen) => {
        const { producerCount, interrupts } = look(seen);
        return [
          `${producerCount} events have come, one every ${PHASES[0].gapNs / 1000} µs, and ${interrupts} interrupts.`,
          'The driver has always cleared the EQ pending bit in time: each event found the counter at 0.',
        ];
      },
      source: 'IPCOM000126453D par. 2-3',
    },
    {
      ...common,
      title: 'More load: an event that does not interrupt',
      when: (seen) => has(seen, ({ producerCount, interrupts }) => producerCount > interrupts),
      says: (seen) => {
        const { producerCount, interrupts, completionEventCounter } = look(seen);
        return [
          `Event ${producerCount} came while the driver was still at work: the counter goes to ${completionEventCounter}, and the stamp has not passed.`,
          `It asks for no interrupt, so there are still ${interrupts}. The driver finds it when it looks at the queue again.`,
        ];
      },
      source: 'IPCOM000126453D par. 4; docs/DOCUMENTS.md decision 8',
    },
    {
      ...common,
      title: 'The stamp has passed: a late driver',
      when: (seen) => has(seen, ({ unresponsive }) => unresponsive > 0),
      says: (seen) => {
        const { completionEventCounter, timer } = look(seen);
        return [
          `The counter, now ${completionEventCounter}, did not come to 0 for ${DELAY_NS / 1000} µs, and an event found the stamp passed: the driver counts as late.`,
          `It is interrupted whatever the controls of the queue say, and the stamp moves on to ${joinDwords(timer.stampLow, timer.stampHigh)} ns.`,
        ];
      },
      source: 'IPCOM000126453D par. 4',
    },
    {
      ...common,
      title: 'Full load: few interrupts',
      when: (seen) => has(seen, ({ unresponsive }) => unresponsive === FULL_LOAD),
      says: (seen) => {
        const { producerCount, interrupts, unresponsive } = look(seen);
        return [
          `Completions come every ${PHASES[2].gapNs} ns, and the driver never rests: ${producerCount} events so far, and ${interrupts} interrupts.`,
          `${unresponsive} of the interrupts came because a stamp had passed: at most one in ${DELAY_NS / 1000} µs, however many events there are.`,
        ];
      },
      source: 'IPCOM000126453D par. 3-4',
    },
    {
      ...common,
      title: 'The load ends',
      when: (seen) => seen.isLast,
      says: (seen) => {
        const { producerCount, interrupts, completionEventCounter } = look(seen);
        return [
          `The driver has served the last CQ, and the counter is ${completionEventCounter}: the next event interrupts at once.`,
          `${interrupts} interrupts were enough for ${producerCount} events.`,
        ];
      },
      source: 'IPCOM000126453D par. 2-3',
    },
  ];
}

export const interruptTimer: Scene = {
  name: 'interrupt-timer',
  seed: 3,
  budget: 64,
  plan: planAlone(planAdapter('a', 0)),
  play,
  makeStops,
};
