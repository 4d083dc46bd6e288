// SPDX-License-Identifier: Apache-2.0
/**
 * Arithmetic on 24-bit packet sequence numbers and message sequence numbers, which wrap (IBA 9.7.1). A number counts
 * as behind another when it is less than half the circle before it.
 */

/** Numbers on the circle, minus one. */
export const PSN_MASK = 0xffffff;

/** The PSN `count` after `psn`; `count` may be negative. */
export function addPsn(psn: number, count: number): number {
  return (psn + count) & PSN_MASK;
}

/** Signed distance from `from` to `to`: positive when `to` is ahead; -2^23 to 2^23 - 1. */
export function psnDistance(from: number, to: number): number {
  return ((to - from) << 8) >> 8;
}

/** Is `psn` one of the `count` numbers from `first` on? */
export function isPsnWithin(psn: number, first: number, count: number): boolean {
  return ((psn - first) & PSN_MASK) < count;
}
