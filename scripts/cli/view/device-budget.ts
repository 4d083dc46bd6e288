// SPDX-License-Identifier: Apache-2.0
/**
 * Limit on the requests to a device, so that pages cost it a small part of its time: an account
 * that fills at this rate and pays the time that the device reports. A full account pays for some
 * answers at once, so a first state arrives at once. Pure. Called by live-source.ts.
 */

/**
 * Part of the device's time that the account gets. Reading requests, writing answers and the turns
 * of the event loop around them are in no answer and cost about as much again: both together stay
 * below 2 % of the device's time.
 */
export const DEVICE_SHARE = 0.01;
/** Limit of the account, ms of the device. */
export const FULL_MS = 10;

export class DeviceBudget {
  readonly #minimumMs: number;
  #balanceMs = FULL_MS;
  #spentMs = 0;
  #atMs: number | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** `minimumMs`: least time between two polls. */
  constructor(minimumMs: number) {
    this.#minimumMs = minimumMs;
  }

  /** Whole ms to wait for the next poll. `spentMs`: total time that the device has spent so far. */
  waitMs(nowMs: number, spentMs: number): number {
    const income = (nowMs - (this.#atMs ?? nowMs)) * DEVICE_SHARE;
    this.#balanceMs = Math.min(FULL_MS, this.#balanceMs + income) - (spentMs - this.#spentMs);
    this.#spentMs = spentMs;
    this.#atMs = nowMs;
    return Math.ceil(Math.max(0, -this.#balanceMs / DEVICE_SHARE, this.#lastMs + this.#minimumMs - nowMs));
  }

  /** Notes the start of a poll. */
  begin(nowMs: number): void {
    this.#lastMs = nowMs;
  }
}
