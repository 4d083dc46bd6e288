// SPDX-License-Identifier: Apache-2.0
/**
 * The local time register: a free-running 64-bit count of ns that software may set; it has no relation to the time of day
 * (IPCOM000126453D). Kept as two dwords so that it wraps like hardware and costs no BigInt.
 */
import type { AdapterClock } from '../host.ts';

const DWORD = 0x100000000;

export class LocalTime {
  /** Low and high dword of the last sample. */
  low = 0;
  high = 0;
  readonly #clock: AdapterClock;
  #offsetLow = 0;
  #offsetHigh = 0;

  constructor(clock: AdapterClock) {
    this.#clock = clock;
  }

  /** Samples the time into `low` and `high`. */
  sample(): void {
    const now = this.#clock.now();
    const sum = (now % DWORD) + this.#offsetLow;
    this.low = sum % DWORD;
    this.high = (Math.floor(now / DWORD) + this.#offsetHigh + (sum >= DWORD ? 1 : 0)) % DWORD;
  }

  /** Makes the register read `high:low` now. */
  set(low: number, high: number): void {
    const now = this.#clock.now();
    const difference = low - (now % DWORD);
    this.#offsetLow = difference < 0 ? difference + DWORD : difference;
    const borrowed = high - Math.floor(now / DWORD) - (difference < 0 ? 1 : 0);
    this.#offsetHigh = ((borrowed % DWORD) + DWORD) % DWORD;
  }

  /** Back to the adapter's own time. */
  reset(): void {
    this.#offsetLow = 0;
    this.#offsetHigh = 0;
  }
}
