// SPDX-License-Identifier: Apache-2.0
/**
 * Times at which the completions of outstanding reads arrive (US 9,069,485 par. 74), oldest first.
 * Completions arrive in the order of the reads: when the latency has become shorter, a later read
 * arrives with the one before it. The owner keeps what a read is for, by the slot of its time.
 * Send pipeline and doorbell units have one each.
 */
import type { DmaTiming } from './dma-timing.ts';

export class ArrivalRing {
  /** Outstanding reads. */
  count = 0;
  /** Slot of the oldest one. */
  first = 0;
  readonly #timing: DmaTiming;
  readonly #times: Float64Array;

  constructor(capacity: number, timing: DmaTiming) {
    this.#timing = timing;
    this.#times = new Float64Array(capacity);
  }

  /** Arrival of the oldest read; Infinity when there is none. */
  get nextNs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.#times[this.first];
  }

  /** Issues a read, for which there must be a slot, and returns its slot. */
  issue(): number {
    const slot = (this.first + this.count) % this.#times.length;
    this.#times[slot] = this.#timing.arrivalNs;
    this.count++;
    return slot;
  }

  /** True when the completion of the oldest read has arrived. */
  hasArrived(nowNs: number): boolean {
    return this.count > 0 && this.#times[this.first] <= nowNs;
  }

  /** Removes the oldest read. */
  remove(): void {
    this.first = (this.first + 1) % this.#times.length;
    this.count--;
  }
}
