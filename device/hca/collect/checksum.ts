// SPDX-License-Identifier: Apache-2.0
/**
 * Checksum of a command: inverted one's-complement sum of its dwords, with the checksum itself as
 * zero, seeded with a key of the QP, as Oracle's sif driver computes it (docs/DOCUMENTS.md
 * decision 2). It detects a command that two writers have mixed. Admission checks it.
 */

/**
 * Returns true when the dword at `checksumOffset` is the checksum of the `lengthBytes` (a multiple
 * of 4) from the start of `view`. Works on 16-bit halves: sums of whole dwords would be doubles,
 * which are objects on the heap each time they cross a call.
 */
export function hasCommandChecksum(
  view: DataView,
  lengthBytes: number,
  checksumOffset: number,
  seedLow: number,
  seedHigh: number,
): boolean {
  let low = seedLow - view.getUint16(checksumOffset, true);
  let high = seedHigh - view.getUint16(checksumOffset + 2, true);
  for (let offset = 0; offset < lengthBytes; offset += 4) {
    low += view.getUint16(offset, true);
    high += view.getUint16(offset + 2, true);
  }
  // At most 81 dwords: two folds of the carry out of 32 bits suffice.
  for (let fold = 0; fold < 2; fold++) {
    high += low >>> 16;
    low = (low & 0xffff) + (high >>> 16);
    high &= 0xffff;
  }
  high += low >>> 16;
  const sum = (high << 16) | (low & 0xffff);
  return (sum ^ view.getInt32(checksumOffset, true)) === -1;
}
