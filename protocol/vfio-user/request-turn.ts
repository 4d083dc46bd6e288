// SPDX-License-Identifier: Apache-2.0
/**
 * The turn of one client: its requests that are handled before those of others. A client may send
 * without end, and a request may cost a few hundred microseconds; neither may delay the other
 * clients of the process. `VfioUserContext` takes one in each `serve`.
 */

/**
 * Calls of vfu_run_ctx in a turn. The next request often arrives right after a reply, and another
 * call costs less than a wait for the descriptor. One call handles up to 64 requests, or a few KiB
 * of them (0009-*.patch, 0011-*.patch).
 */
const CALLS_PER_TURN = 16;
/** A turn ends with the call after which it has lasted this long. */
const TURN_MS = 0.5;

export class RequestTurn {
  /** Requests of the last turn. */
  requests = 0;
  readonly #handle: () => number;
  readonly #nowMs: () => number;

  /**
   * `handle` returns the number of requests that it has handled, or a negative number when it has
   * failed. `nowMs`: any monotonic clock.
   */
  constructor(handle: () => number, nowMs: () => number) {
    this.#handle = handle;
    this.#nowMs = nowMs;
  }

  /** Takes a turn. Returns the last result of `handle`; 0: no request is left. */
  take(): number {
    const endMs = this.#nowMs() + TURN_MS;
    this.requests = 0;
    for (let calls = 1; ; calls++) {
      const result = this.#handle();
      if (result <= 0) return result;
      this.requests += result;
      if (calls === CALLS_PER_TURN || this.#nowMs() >= endMs) return result;
    }
  }
}
