// SPDX-License-Identifier: Apache-2.0
/**
 * Moderation of completion events: the event of an armed CQ waits until so many completions are
 * unseen, or until the first of them is so old. It limits the events of one CQ, as the interrupt
 * timer of an event queue (IPCOM000126453D par. 3-4) limits the interrupts of many. A moderated CQ
 * asks it before it posts an event; the adapter runs it in each pass.
 */
import { EventCause } from '../function/timeline-values.ts';
import type { CompletionTimes } from './completion-times.ts';

const OFF = Number.POSITIVE_INFINITY;

/** Time of the adapter (`AdapterClock`). */
interface ModerationClock {
  now(): number;
  setAlarm(atNs: number): void;
}

/** A completion queue as moderation sees it. */
export interface ModeratedQueue {
  /** Unseen completions that end the wait; 0: only time does. */
  moderationCount: number;
  moderationNs: number;
  readonly producerCount: number;
  readonly completionTimes: CompletionTimes | undefined;
  /** The adapter's time at which the wait ends; Infinity: no event waits. */
  heldUntilNs: number;
  /** Its place among the queues whose events wait. */
  heldAt: number;
  /** Posts the event that has waited, if it is still due. */
  postHeld(cause: EventCause): void;
}

export class EventModeration {
  readonly #clock: ModerationClock;
  readonly #held: ModeratedQueue[] = [];
  /** At most the earliest end of a wait. */
  #nextNs = OFF;

  constructor(clock: ModerationClock) {
    this.#clock = clock;
  }

  /** The queue posts its next completion. */
  noteCompletion(queue: ModeratedQueue): void {
    queue.completionTimes?.note(queue.producerCount, this.#clock.now(), queue.moderationNs);
  }

  /** True when the event of a queue with so many unseen completions waits. */
  holds(queue: ModeratedQueue, unseen: number): boolean {
    if (queue.moderationCount !== 0 && unseen >= queue.moderationCount) {
      this.release(queue);
      return false;
    }
    return queue.heldUntilNs !== OFF || this.#hold(queue, unseen);
  }

  /** Lets the event wait unless the first unseen completion has waited for the whole period. */
  #hold(queue: ModeratedQueue, unseen: number): boolean {
    const times = queue.completionTimes;
    const mark = times?.find((queue.producerCount - unseen) >>> 0) ?? -1;
    if (times === undefined || mark < 0) return false;
    const untilNs = times.ns[mark] + queue.moderationNs;
    if (untilNs <= this.#clock.now()) return false;
    queue.heldUntilNs = untilNs;
    queue.heldAt = this.#held.length;
    this.#held.push(queue);
    this.#nextNs = Math.min(this.#nextNs, untilNs);
    return true;
  }

  /** The queue's event no longer waits. */
  release(queue: ModeratedQueue): void {
    if (queue.heldUntilNs === OFF) return;
    queue.heldUntilNs = OFF;
    const last = this.#held.pop() as ModeratedQueue;
    if (last === queue) return;
    this.#held[queue.heldAt] = last;
    last.heldAt = queue.heldAt;
  }

  /** Posts the events whose wait has ended, and asks for a pass at the end of the next wait. */
  run(): void {
    if (this.#nextNs === OFF) return;
    const nowNs = this.#clock.now();
    if (this.#nextNs <= nowNs) this.#expire(nowNs);
    if (this.#nextNs !== OFF) this.#clock.setAlarm(this.#nextNs);
  }

  #expire(nowNs: number): void {
    let nextNs = OFF;
    // Backwards: a release puts the last queue, which has been seen, into the place.
    for (let index = this.#held.length - 1; index >= 0; index--) {
      const queue = this.#held[index];
      if (queue.heldUntilNs > nowNs) {
        nextNs = Math.min(nextNs, queue.heldUntilNs);
        continue;
      }
      this.release(queue);
      queue.postHeld(EventCause.TIME);
    }
    this.#nextNs = nextNs;
  }
}
