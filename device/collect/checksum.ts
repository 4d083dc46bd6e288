// SPDX-License-Identifier: Apache-2.0
/**
 * Checksum of a command: one's-complement sum of its dwords with the checksum itself as zero, seeded with a key, inverted
 * (after real-hardware 1.4). Detects a command torn between two writers.
 */

const DWORD = 0x100000000;

/** Checksum of `lengthBytes` (a multiple of 4) from the start of `view`; the dword at `checksumOffset` counts as zero. */
export function computeCommandChecksum(
  view: DataView,
  lengthBytes: number,
  checksumOffset: number,
  seed: number,
): number {
  let sum = seed;
  for (let offset = 0; offset < lengthBytes; offset += 4) sum += view.getUint32(offset, true);
  sum -= view.getUint32(checksumOffset, true);
  // At most 81 dwords: two folds suffice, and the sum is exact as a Number.
  for (let fold = 0; fold < 2; fold++) sum = (sum % DWORD) + Math.floor(sum / DWORD);
  return ~sum >>> 0;
}
