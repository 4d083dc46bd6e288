// SPDX-License-Identifier: Apache-2.0
/** The checksum of commands: the driver's own reading of docs/PROGRAMMING.md, written apart from the device's on purpose. */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';

/**
 * One's-complement sum of the dwords of a command, its checksum taken as zero, seeded with `key`, folded twice to 32 bits and inverted.
 * @param checksumOffset where the checksum stands in the command, in bytes.
 */
export function commandChecksum(command: DataView, checksumOffset: number, key: number): number {
  // Exact: a command has so few dwords that their sum stays far below 2^53.
  let sum = key >>> 0;
  for (let offset = 0; offset < command.byteLength; offset += 4) {
    if (offset !== checksumOffset) sum += command.getUint32(offset, true);
  }
  return ~fold(fold(sum)) >>> 0;
}

/** The carries beyond 32 bits come back in at the bottom. */
function fold(wide: number): number {
  return lowDword(wide) + highDword(wide);
}
