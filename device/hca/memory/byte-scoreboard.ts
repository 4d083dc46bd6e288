// SPDX-License-Identifier: Apache-2.0
/**
 * Byte scoreboard of a buffer that software fills by stores in any order, of any size and with
 * repetition: one bit for each byte shows which have arrived (US 8,484,392 par. 113;
 * US 2015/0378953 claim 1). Used by collect buffers and send blocks.
 */

/**
 * Stores 1, 2, 4 or 8 bytes at an aligned `offset` of `view` and sets their bits in `arrived`,
 * which has 32 bits a word. A repeated store is harmless: the last value of a byte counts.
 */
export function storeBytes(
  view: DataView,
  arrived: Int32Array,
  offset: number,
  sizeBytes: number,
  low: number,
  high: number,
): void {
  if (sizeBytes === 8) {
    view.setUint32(offset, low, true);
    view.setUint32(offset + 4, high, true);
  } else if (sizeBytes === 4) view.setUint32(offset, low, true);
  else if (sizeBytes === 2) view.setUint16(offset, low, true);
  else view.setUint8(offset, low);
  noteBytes(arrived, offset, sizeBytes);
}

/** Sets the bits of 1, 2, 4 or 8 bytes at an aligned `offset` in `arrived`. */
export function noteBytes(arrived: Int32Array, offset: number, sizeBytes: number): void {
  // Sizes are powers of two and offsets aligned, so the bits never cross a word.
  arrived[offset >>> 5] |= ((1 << sizeBytes) - 1) << (offset & 31);
}
