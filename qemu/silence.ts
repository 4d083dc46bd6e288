// SPDX-License-Identifier: Apache-2.0
/**
 * Notices a guest that gives no sign of life: a line of its console, its log or a port. Guests on a
 * busy machine may be silent for a minute, so the bounds only end what would never end, and are no
 * judgement. Called by sessions and guest tests.
 */
export interface SilenceOptions {
  /** Every so often it is said that the guest is silent; never when absent. */
  readonly warnMs?: number;
  /** Called with the seconds of silence. */
  readonly onWarn?: (seconds: number) => void;
  /** So long a silence ends it; none does when absent. */
  readonly endMs?: number;
  readonly onEnd?: (seconds: number) => void;
}

const POLL_MS = 500;

export class SilenceWatch {
  readonly #options: SilenceOptions;
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();
  #warned = 0;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), POLL_MS).unref();
  }

  /** A sign of life. */
  news(): void {
    this.#lastMs = performance.now();
    this.#warned = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { warnMs = Number.POSITIVE_INFINITY, endMs = Number.POSITIVE_INFINITY, onWarn, onEnd } = this.#options;
    const silentMs = performance.now() - this.#lastMs;
    if (silentMs >= endMs) {
      this.stop();
      onEnd?.(Math.round(silentMs / 1000));
    } else if (silentMs >= warnMs * (this.#warned + 1)) {
      this.#warned++;
      onWarn?.(Math.round(silentMs / 1000));
    }
  }
}
