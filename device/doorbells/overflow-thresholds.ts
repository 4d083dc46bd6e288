// SPDX-License-Identifier: Apache-2.0
/**
 * When doorbells are spilled and when they are read back (US9069485: thresholds may be set by software or adapt). Below `low` free entries of the scheduler buffer
 * spilling begins, from `high` on it ends. Adaptive: a deadlock that was seen by the outstanding reads first raises `low` to where it was seen, so that the next one
 * is seen by the free entries; an episode in which the reads never were at their limit lowers it by one.
 */
export class OverflowThresholds {
  low = 1;
  high = 2;
  readonly #entries: number;
  #readsWereAtLimit = false;

  constructor(entries: number) {
    this.#entries = entries;
  }

  /** Takes what software wrote, as far as it makes sense: 1 <= low < high <= entries. */
  set(low: number, high: number): void {
    this.low = Math.max(1, Math.min(low, this.#entries - 1));
    this.high = Math.max(this.low + 1, Math.min(high, this.#entries));
  }

  /** While doorbells are spilled. */
  noteReads(atLimit: boolean): void {
    if (atLimit) this.#readsWereAtLimit = true;
  }

  /** Spilling begins with `free` entries. */
  begin(free: number, adaptive: boolean): void {
    this.#readsWereAtLimit = false;
    if (adaptive && free >= this.low) this.low = Math.max(this.low, Math.min(free + 1, this.high - 1));
  }

  /** Spilling ends. */
  end(adaptive: boolean): void {
    if (adaptive && !this.#readsWereAtLimit) this.low = Math.max(1, this.low - 1);
  }
}
