// SPDX-License-Identifier: Apache-2.0
/** Comparing bytes, which the oracle does with every byte of every seed: loops that allocate nothing. */

/** Index of the first byte of `expected` that is not at `offset` and on in `bytes`, or -1. */
export function findDifference(bytes: Uint8Array, expected: Uint8Array, offset = 0): number {
  for (let index = 0; index < expected.length; index++) if (bytes[offset + index] !== expected[index]) return index;
  return -1;
}
