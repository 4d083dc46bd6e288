// SPDX-License-Identifier: Apache-2.0
/**
 * How long the pump polls after its last work, by the pauses before requests. A short window finds
 * what follows at once. Where requests come so far apart that each of them would find the pump
 * asleep, but not much farther, the window grows to twice their mean pause. Pure; spin-time.ts asks
 * it.
 */

/** Pauses within reach of the longest window that make the window grow. */
const TRUST = 8;
/** A pause beyond it takes back so many: polling in vain costs more than a find gains. */
const DISTRUST = 4;
/** Weight of the last pause in the mean. */
const WEIGHT = 1 / 8;

export class SpinWindow {
  readonly counters = {
    /** Requests that came while the window was long and a short one would have been over. */
    found: 0,
    /** Long windows without a request. */
    missed: 0,
  };
  readonly #shortestNs: number;
  readonly #longestNs: number;
  #trust = 0;
  #isLong = false;
  /** 0 before the first pause that counts. */
  #meanNs = 0;
  /** Nanoseconds to poll. */
  ns: number;

  /** Equal times are a fixed window. */
  constructor(shortestNs: number, longestNs: number) {
    this.#shortestNs = shortestNs;
    this.#longestNs = longestNs;
    this.ns = shortestNs;
  }

  /**
   * A request has come after a pause of `pauseNs`; Infinity when the pump gave up before one came.
   * `hasPolled`: it was free to poll meanwhile.
   */
  pausedFor(pauseNs: number, hasPolled: boolean): void {
    if (pauseNs <= this.#shortestNs) return;
    if (this.#isLong && hasPolled) this.counters[pauseNs <= this.ns ? 'found' : 'missed']++;
    if (pauseNs > this.#longestNs) {
      this.#trust = Math.max(0, this.#trust - DISTRUST);
      if (this.#trust === 0) this.#isLong = false;
    } else {
      this.#trust = Math.min(TRUST, this.#trust + 1);
      if (this.#trust === TRUST) this.#isLong = true;
      this.#meanNs = this.#meanNs === 0 ? pauseNs : this.#meanNs + WEIGHT * (pauseNs - this.#meanNs);
    }
    this.ns = this.#isLong ? Math.min(this.#longestNs, 2 * this.#meanNs) : this.#shortestNs;
  }
}
