// SPDX-License-Identifier: Apache-2.0
/**
 * The time for which accesses of a guest wait behind a posted write that blocks the bus of its
 * function (docs/DOCUMENTS.md decision 31). A bus that stays blocked lets them pass, before QEMU
 * gives the device up, which waits 5 s for an answer by default. The vfio-user host asks before
 * each access.
 */

/** Longest time for which a blocked bus holds accesses up. */
export const BLOCKED_MAX_MS = 2000;

export class BusPatience {
  /** Times that accesses began to pass a blocked bus. */
  passed = 0;
  readonly #onFirstPass: () => void;
  readonly #nowMs: () => number;
  #sinceMs: number | undefined;
  #isPassing = false;

  /** `nowMs`: any monotonic clock. */
  constructor(onFirstPass: () => void, nowMs: () => number) {
    this.#onFirstPass = onFirstPass;
    this.#nowMs = nowMs;
  }

  /** Whether the next access may be made; `isFree`: the bus is not blocked. */
  takes(isFree: boolean): boolean {
    if (isFree) {
      this.#sinceMs = undefined;
      this.#isPassing = false;
      return true;
    }
    const nowMs = this.#nowMs();
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#sinceMs < BLOCKED_MAX_MS) return false;
    if (!this.#isPassing && ++this.passed === 1) this.#onFirstPass();
    this.#isPassing = true;
    return true;
  }
}
