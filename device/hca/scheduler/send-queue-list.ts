// SPDX-License-Identifier: Apache-2.0
/**
 * A scheduler list: the linked send queues of one function and QoS level (US 9,069,485 par. 71-73).
 * A queue is in it at most once. Each change is shown in the descriptors by posted writes, on which
 * no completion depends. The send queue scheduler serves the lists in turn.
 */
import { noteStep, Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendQueueDescriptors } from './send-queue-descriptor.ts';

export class SendQueueList {
  readonly owner: UnderlyingFunction;
  /** True while the list waits for a turn of the scheduler. */
  active = false;
  head: QueuePair | undefined = undefined;
  #tail: QueuePair | undefined = undefined;
  readonly #descriptors: SendQueueDescriptors;

  constructor(owner: UnderlyingFunction, descriptors: SendQueueDescriptors) {
    this.owner = owner;
    this.#descriptors = descriptors;
  }

  /** Appends a queue that is in no list. */
  push(qp: QueuePair): void {
    const before = this.#tail;
    qp.scheduled = true;
    noteStep(qp, Step.LIST_ENTER, qp.qosLevel);
    qp.nextScheduled = undefined;
    qp.previousScheduled = before;
    this.#tail = qp;
    this.#descriptors.writeLink(qp);
    if (before === undefined) this.head = qp;
    else {
      before.nextScheduled = qp;
      this.#descriptors.writeLink(before);
    }
  }

  /** Unlinks all queues without writing descriptors: function reset. */
  clear(): void {
    for (let qp = this.head; qp !== undefined; ) {
      const next: QueuePair | undefined = qp.nextScheduled;
      qp.scheduled = false;
      qp.nextScheduled = undefined;
      qp.previousScheduled = undefined;
      qp = next;
    }
    this.head = undefined;
    this.#tail = undefined;
  }

  /** Unlinks a queue at any position. */
  remove(qp: QueuePair): void {
    const { previousScheduled: before, nextScheduled: after } = qp;
    qp.scheduled = false;
    noteStep(qp, Step.LIST_LEAVE, qp.qosLevel);
    qp.nextScheduled = undefined;
    qp.previousScheduled = undefined;
    if (after === undefined) this.#tail = before;
    else after.previousScheduled = before;
    if (before === undefined) this.head = after;
    else {
      before.nextScheduled = after;
      this.#descriptors.writeLink(before);
    }
    this.#descriptors.writeLink(qp);
  }
}
