// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams that meet a page that is not present (docs/FEATURES.md, On-demand paging). A send
 * command returns to the send queue until the page has come; a received datagram is dropped, and
 * its receive WQE stays for the next one. Both datagram units have one of these.
 */
import type { PagePart } from '../../function/timeline-values.ts';
import type { PageFaults, PageWaiter } from '../../protection/page-faults.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';

/** A request whose page fault was refused: numbers begin anew when the QP does. */
interface Refusal {
  readonly number: number;
  readonly epoch: number;
}

export class DatagramPages {
  readonly #faults: PageFaults;
  /** The last request of each QP whose fault was refused. */
  readonly #refused = new WeakMap<QueuePair, Refusal>();
  readonly #waiter: PageWaiter<QueuePair>;

  /** `resume`: a page that the QP waits for may be present. */
  constructor(faults: PageFaults, part: PagePart, resume: (qp: QueuePair) => void = () => undefined) {
    this.#faults = faults;
    this.#waiter = {
      part,
      resume,
      refuse: (qp, number) => {
        this.#refused.set(qp, { number, epoch: qp.epoch });
        resume(qp);
      },
    };
  }

  /** Returns true when the request with this number has missed a page, which is awaited now. */
  await(qp: QueuePair, number: number): boolean {
    if (!this.#faults.take()) return false;
    const refused = this.#refused.get(qp);
    this.#refused.delete(qp);
    if (refused?.number === number && refused.epoch === qp.epoch) return false;
    this.#faults.wait(qp, this.#waiter, number);
    return true;
  }
}
