// SPDX-License-Identifier: Apache-2.0
/**
 * The turn of one client: how many of its requests are handled before others have theirs. A client
 * may send without end, and a request may cost a few hundred microseconds; neither may delay the
 * other clients of the process. `VfioUserContext` takes one in each `serve`.
 */

/**
 * Calls of vfu_run_ctx in a turn. The next request often arrives right after a reply, and another
 * call costs less than a wait for the descriptor. One call handles up to 64 requests, or a few KiB
 * of them (0009-*.patch, 0011-*.patch).
 */
const CALLS_PER_TURN = 16;
/** A turn ends with the call after which it has lasted so long. */
const TURN_MS = 0.5;

/** What a turn has come to: the last result of `handle`, 0 if no request is left, and all handled. */
export interface RequestTurn {
  readonly result: number;
  readonly requests: number;
}

/**
 * Calls `handle`, which returns the number of requests that it has handled, or a negative number
 * when it has failed. `nowMs`: any monotonic clock.
 */
export function takeTurn(handle: () => number, nowMs: () => number): RequestTurn {
  const endMs = nowMs() + TURN_MS;
  let requests = 0;
  for (let calls = 1; ; calls++) {
    const result = handle();
    if (result <= 0) return { result, requests };
    requests += result;
    if (calls === CALLS_PER_TURN || nowMs() >= endMs) return { result, requests };
  }
}
