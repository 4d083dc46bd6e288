// SPDX-License-Identifier: Apache-2.0
/**
 * Arithmetic on 24-bit packet and message sequence numbers, which wrap (IBTA 9.7.1). A number is
 * behind another if it is less than half the number space before it. Requester and responder call
 * these functions for each packet.
 */

/** Mask of a packet sequence number, and the largest one. */
export const PSN_MASK = 0xffffff;
/** Mask of a message sequence number, and the largest one. */
export const MSN_MASK = 0xffffff;

/** The PSN that is `count` after `psn`; `count` may be negative. */
export function addPsn(psn: number, count: number): number {
  return (psn + count) & PSN_MASK;
}

/** Signed distance from `from` to `to`, -2^23 to 2^23 - 1; positive if `to` is ahead. */
export function psnDistance(from: number, to: number): number {
  return ((to - from) << 8) >> 8;
}

/** True if `psn` is one of the `count` numbers from `first`. */
export function isPsnWithin(psn: number, first: number, count: number): boolean {
  return ((psn - first) & PSN_MASK) < count;
}
