// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams that meet a page that is not present (docs/PROGRAMMING.md, On-demand paging). A send
 * command returns to the send queue until the page has come; a received datagram is dropped, and
 * its receive WQE stays for the next one. Both datagram units have one of these.
 */
import type { PagePart } from '../function/timeline-values.ts';
import type { KeyHolder } from '../protection/key-holder.ts';
import type { PageFaults } from '../protection/page-faults.ts';
import type { PageWaiter } from '../protection/page-wait.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

export class DatagramPages {
  readonly #faults: PageFaults;
  /** The request of each QP that last missed a page, and the last one whose fault was refused. */
  readonly #missed = new WeakMap<KeyHolder, number>();
  readonly #refused = new WeakMap<KeyHolder, number>();
  readonly #waiter: PageWaiter;

  /** `resume`: a page that the QP waits for may be present. */
  constructor(faults: PageFaults, part: PagePart, resume: (qp: QueuePair) => void = () => undefined) {
    this.#faults = faults;
    this.#waiter = {
      part,
      resume: (holder) => resume(holder as QueuePair),
      refuse: (holder) => {
        this.#refused.set(holder, this.#missed.get(holder) ?? 0);
        resume(holder as QueuePair);
      },
    };
  }

  /** Returns true when the request with this number has missed a page, which is awaited now. */
  await(qp: QueuePair, number: number): boolean {
    if (!this.#faults.take() || this.#refused.get(qp) === number) return false;
    this.#refused.delete(qp);
    this.#missed.set(qp, number);
    this.#faults.wait(qp, this.#waiter, number);
    return true;
  }
}
