// SPDX-License-Identifier: Apache-2.0
/** Stores of software into a buffer of the adapter that may come in any order, size and repetition: a bit for every byte says what has arrived. Used by collect buffers and send blocks. */

/**
 * Stores 1, 2, 4 or 8 bytes at an aligned `offset` of `view` and marks them in `arrived`, 32 bytes a word. Repetition is harmless: the last value of a byte
 * counts.
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
  // Sizes are powers of two and offsets aligned, so the bits never cross a word.
  arrived[offset >>> 5] |= ((1 << sizeBytes) - 1) << (offset & 31);
}
