// SPDX-License-Identifier: Apache-2.0
/**
 * The checksum of commands (docs/DOCUMENTS.md decision 2; docs/PROGRAMMING.md). The driver has its
 * own implementation, so that an error in the device's shows.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';

/**
 * One's-complement sum of the dwords of a command with a checksum field of zero, seeded with `key`,
 * folded twice to 32 bits and inverted. `checksumOffset`: byte offset of the checksum field.
 */
export function commandChecksum(command: DataView, checksumOffset: number, key: number): number {
  // Exact: the sum of the few dwords of a command stays far below 2^53.
  let sum = key >>> 0;
  for (let offset = 0; offset < command.byteLength; offset += 4) {
    if (offset !== checksumOffset) sum += command.getUint32(offset, true);
  }
  return ~fold(fold(sum)) >>> 0;
}

/** Adds the carries beyond 32 bits to the low dword. */
function fold(wide: number): number {
  return lowDword(wide) + highDword(wide);
}
