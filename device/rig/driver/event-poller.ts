// SPDX-License-Identifier: Apache-2.0
/**
 * A driver's service of an event queue with summary bytes (IPCOM000126453D par. 2-4). A poll clears
 * the primary byte, then the secondary bytes, then reads the EQ; an interrupt only reads the EQ.
 * A byte is cleared before the queue that it stands for is read, and EQ pending before the CQ is
 * read: a later event sets it again. The last event may raise no interrupt, so there is a slow poll
 * without a summary byte, the deadman.
 */
import { EventType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { DriverEventQueue } from './event-queue.ts';

/** The service of one event queue and its CQs. */
export class EventPoller {
  readonly events: DriverEventQueue;
  /**
   * Reads a register after the CQs were armed, as Linux's ehca driver does: it makes earlier writes
   * visible, so that no last event stays unread.
   */
  readBack: (() => void) | undefined = undefined;
  /** Polls that found the primary byte clear and ended there. */
  idlePolls = 0;
  /** Events that only the slow poll found. */
  stranded = 0;
  protected readonly queues = new Map<number, DriverCompletionQueue>();
  protected readonly take: (queue: DriverCompletionQueue) => void;

  /** `take` empties a CQ. */
  constructor(
    events: DriverEventQueue,
    queues: readonly DriverCompletionQueue[],
    take: (queue: DriverCompletionQueue) => void,
  ) {
    this.events = events;
    this.take = take;
    for (const queue of queues) this.add(queue);
  }

  add(queue: DriverCompletionQueue): void {
    this.queues.set(queue.cqn, queue);
  }

  /** Removes a destroyed CQ, of which events may still be in the queue. */
  forget(queue: DriverCompletionQueue): void {
    this.queues.delete(queue.cqn);
  }

  /** Serves the queue if the primary byte is set; returns the number of completion events. */
  poll(): number {
    const { summary } = this.events;
    if (summary === undefined || summary.getUint8(0) === 0) {
      this.idlePolls++;
      return 0;
    }
    summary.setUint8(0, 0);
    for (let index = 1; index < summary.byteLength; index++)
      if (summary.getUint8(index) !== 0) summary.setUint8(index, 0);
    return this.serve();
  }

  /** Takes all events, whatever the bytes are, as the interrupt handler does. */
  serve(): number {
    let served = 0;
    for (let events = this.events.walk(); events.length > 0; events = this.events.walk()) {
      for (const { eventType, objectNumber } of events) {
        const queue = this.queues.get(objectNumber);
        if (eventType !== EventType.COMPLETION || queue === undefined) continue;
        served++;
        this.handle(queue);
      }
      this.readBack?.();
    }
    return served;
  }

  /** Takes CQEs, then arms with the count taken: a CQE between the two causes an event at once. */
  protected handle(queue: DriverCompletionQueue): void {
    this.take(queue);
    queue.notify();
  }

  /** The slow poll: called periodically, even without any sign of an event. */
  deadman(): number {
    const found = this.serve();
    this.stranded += found;
    return found;
  }
}
