// SPDX-License-Identifier: Apache-2.0
/**
 * A 64-bit value as two unsigned dwords, as registers, page lists and packet headers carry it. A
 * Number holds a value exactly below 2^53; all addresses and counts are below. Device, driver and
 * tests call these functions.
 */

const RANGE = 0x1_0000_0000;

/** Number of values of a dword, which is the weight of the high dword. */
export const DWORD_RANGE = RANGE;

/** The value of two dwords. */
export function joinDwords(low: number, high: number): number {
  return high * RANGE + low;
}

/**
 * The low dword of a value that is not negative. V8 computes a remainder of doubles by a call into
 * C, and this in one instruction.
 */
export function lowDword(value: number): number {
  return value >>> 0;
}

/** The high dword of a value that is not negative. */
export function highDword(value: number): number {
  return Math.floor(value / RANGE);
}

/** A dword with its bytes in the opposite order: big-endian registers in a little-endian BAR. */
export function swapBytes(value: number): number {
  return ((value >>> 24) | ((value >>> 8) & 0xff00) | ((value & 0xff00) << 8) | (value << 24)) >>> 0;
}

/** Number of bits of a dword that are set. */
export function countBits(dword: number): number {
  let bits = 0;
  for (let rest = dword; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
