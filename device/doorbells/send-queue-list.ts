// SPDX-License-Identifier: Apache-2.0
/**
 * A scheduler list: send queues of one function and QoS level with commands to be read (US9069485, linked list of send queue descriptors). A queue is in it at
 * most once. Each change is written to the descriptors by posted writes, which no completion depends on.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendQueueDescriptors } from './send-queue-descriptor.ts';

export class SendQueueList {
  readonly owner: UnderlyingFunction;
  /** The scheduler has the list among those that take turns. */
  active = false;
  head: QueuePair | undefined = undefined;
  #tail: QueuePair | undefined = undefined;
  readonly #descriptors: SendQueueDescriptors;

  constructor(owner: UnderlyingFunction, descriptors: SendQueueDescriptors) {
    this.owner = owner;
    this.#descriptors = descriptors;
  }

  /** Puts a queue that is in no list at the end. */
  push(qp: QueuePair): void {
    const before = this.#tail;
    qp.scheduled = true;
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

  /** Forgets all queues, and writes nothing. */
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

  /** Takes a queue off, wherever it stands. */
  remove(qp: QueuePair): void {
    const { previousScheduled: before, nextScheduled: after } = qp;
    qp.scheduled = false;
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
