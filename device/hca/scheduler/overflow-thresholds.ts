// SPDX-License-Identifier: Apache-2.0
/**
 * Thresholds of spilling, in free entries of the scheduler buffer (US 9,069,485 par. 67, 92):
 * spilling begins below `low` and ends at `high`. Software sets them by register, and `low` may
 * adapt. A deadlock that was detected by outstanding reads raises `low` to the level of that
 * moment, so free entries detect the next one; an episode without reads at their limit lowers `low`
 * by one. Called by `DoorbellUnit` and its registers.
 */
export class OverflowThresholds {
  low = 1;
  high = 2;
  readonly #entries: number;
  #readsWereAtLimit = false;

  constructor(entries: number) {
    this.#entries = entries;
  }

  /** Sets both, clamped to 1 <= low < high <= entries. */
  set(low: number, high: number): void {
    this.low = Math.max(1, Math.min(low, this.#entries - 1));
    this.high = Math.max(this.low + 1, Math.min(high, this.#entries));
  }

  /** Called at each step while doorbells are spilled. `atLimit`: no further read can be issued. */
  noteReads(atLimit: boolean): void {
    if (atLimit) this.#readsWereAtLimit = true;
  }

  /** Spilling begins with `free` free entries. */
  begin(free: number, adaptive: boolean): void {
    this.#readsWereAtLimit = false;
    if (adaptive && free >= this.low) this.low = Math.max(this.low, Math.min(free + 1, this.high - 1));
  }

  /** Spilling ends. */
  end(adaptive: boolean): void {
    if (adaptive && !this.#readsWereAtLimit) this.low = Math.max(1, this.low - 1);
  }
}
