// SPDX-License-Identifier: Apache-2.0
/**
 * How many connections a listening link looks at: some in a row, and then so many a second, whoever
 * connects. `link-listener.ts` uses it.
 */

const MS_PER_SECOND = 1000;

export class ConnectionRate {
  /** Connections in a row, and a second. */
  readonly limit: number;
  #left: number;
  #countedMs: number;

  constructor(limit: number, nowMs: number) {
    this.limit = limit;
    this.#left = limit;
    this.#countedMs = nowMs;
  }

  /** Counts a connection; false when there were too many. `nowMs` never goes back. */
  take(nowMs: number): boolean {
    const earned = ((nowMs - this.#countedMs) * this.limit) / MS_PER_SECOND;
    this.#countedMs = nowMs;
    this.#left = Math.min(this.limit, this.#left + earned);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
