// SPDX-License-Identifier: Apache-2.0
/** Comparison of bytes without allocation: the oracle compares every byte of every seed. */

/** Index of the first byte of `expected` that differs from `bytes` from `offset` on, or -1. */
export function findDifference(bytes: Uint8Array, expected: Uint8Array, offset = 0): number {
  for (let index = 0; index < expected.length; index++) if (bytes[offset + index] !== expected[index]) return index;
  return -1;
}
