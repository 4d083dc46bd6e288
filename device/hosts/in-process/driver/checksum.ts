// SPDX-License-Identifier: Apache-2.0
/** The checksum of commands: the driver's own reading of docs/PROGRAMMING.md, written apart from the device's on purpose. */

/**
 * One's-complement sum of the dwords of a command, its checksum taken as zero, seeded with `key`, folded twice to 32 bits and inverted.
 * @param checksumOffset where the checksum stands in the command, in bytes.
 */
export function commandChecksum(command: DataView, checksumOffset: number, key: number): number {
  let sum = BigInt(key >>> 0);
  for (let offset = 0; offset < command.byteLength; offset += 4) {
    if (offset !== checksumOffset) sum += BigInt(command.getUint32(offset, true));
  }
  const fold = (wide: bigint): bigint => (wide & 0xffff_ffffn) + (wide >> 32n);
  return Number(~fold(fold(sum)) & 0xffff_ffffn);
}
