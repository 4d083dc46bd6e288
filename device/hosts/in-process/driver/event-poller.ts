// SPDX-License-Identifier: Apache-2.0
/**
 * How a driver serves an event queue with summary bytes (IPCOM000126453D): by polling it looks at one byte, then at the bytes of the CQs, then at the queue;
 * by interrupt it goes the same way. Bytes are cleared before what they stand for is looked at, and the EQ pending bit of a CQ before the CQ itself: an event that comes in
 * between sets them again. The device may leave the last event without an interrupt, so there is a deadman, a slow poll that needs no byte.
 */
import { EventType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { DriverEventQueue } from './event-queue.ts';

export class EventPoller {
  readonly events: DriverEventQueue;
  /** Reads the device after each round of arming, as ehca does: what it posted before is visible then, and a last event is not left behind. */
  readBack: (() => void) | undefined = undefined;
  /** Polls that found the primary byte clear and looked no further. */
  idlePolls = 0;
  /** Events that only the deadman found. */
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

  /** The CQ is destroyed: events about it may still be in the queue. */
  forget(queue: DriverCompletionQueue): void {
    this.queues.delete(queue.cqn);
  }

  /** Looks at the primary byte and serves the queue if it is set. Returns the completion events served. */
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

  /** Takes every event there is, whatever the bytes say: what an interrupt does. */
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

  /** Taking, then arming with the count taken: an entry that came in between is an event at once. */
  protected handle(queue: DriverCompletionQueue): void {
    this.take(queue);
    queue.notify();
  }

  /** What runs every so often, however quiet it is. */
  deadman(): number {
    const found = this.serve();
    this.stranded += found;
    return found;
  }
}
