// SPDX-License-Identifier: Apache-2.0
/**
 * The halves of an L_Key or R_Key (IBTA 10.6): the high 24 bits are the number of a memory region
 * or window, the low 8 bits are the key byte, which software chooses and changes. The key check and
 * the tests of keys use them.
 */

const NUMBER_SHIFT = 8;
const BYTE_MASK = 0xff;

/** Position of the number of the region or window, which reaches to the top bit. */
export const KEY_NUMBER_SHIFT = NUMBER_SHIFT;
/** Bits of the key byte. */
export const KEY_BYTE_MASK = BYTE_MASK;

/** The key of the region or window `number`. */
export function makeKey(number: number, keyByte: number): number {
  return ((number << NUMBER_SHIFT) | keyByte) >>> 0;
}

/** The key with another key byte. */
export function withKeyByte(key: number, keyByte: number): number {
  return ((key & ~BYTE_MASK) | keyByte) >>> 0;
}
