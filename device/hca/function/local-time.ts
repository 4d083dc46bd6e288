// SPDX-License-Identifier: Apache-2.0
/**
 * The local time register: a free-running 64-bit count of ns, which software may set and which has
 * no relation to the time of day (IPCOM000126453D par. 1). Event queues compare it with their
 * interrupt stamps. It is kept as two dwords, so it wraps like hardware and needs no BigInt.
 */
import { DWORD_RANGE, highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import type { AdapterClock } from '../../host.ts';

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
    const sum = lowDword(now) + this.#offsetLow;
    this.low = lowDword(sum);
    this.high = lowDword(highDword(now) + this.#offsetHigh + (sum >= DWORD_RANGE ? 1 : 0));
  }

  /** Sets the register to `high:low` as of now. */
  set(low: number, high: number): void {
    const now = this.#clock.now();
    const difference = low - lowDword(now);
    this.#offsetLow = difference < 0 ? difference + DWORD_RANGE : difference;
    const borrowed = high - highDword(now) - (difference < 0 ? 1 : 0);
    this.#offsetHigh = ((borrowed % DWORD_RANGE) + DWORD_RANGE) % DWORD_RANGE;
  }

  /** Returns to the adapter's own time. */
  reset(): void {
    this.#offsetLow = 0;
    this.#offsetHigh = 0;
  }
}
