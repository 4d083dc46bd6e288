// SPDX-License-Identifier: Apache-2.0
/**
 * Views of pieces of one array, kept for the next use: a view costs as much to make as 4 KiB to
 * copy, and messages come from the same buffers again and again. Used by windows of guest memory.
 */

/** Views kept: those of 1 MiB in pieces of 4 KiB. */
const VIEWS = 256;
const PIECE_SHIFT = 12;

export class ViewCache {
  readonly #bytes: Uint8Array;
  readonly #views = new Array<Uint8Array | undefined>(VIEWS).fill(undefined);
  /** Offsets of the views in the array, below 2^31. */
  readonly #starts = new Int32Array(VIEWS);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The `lengthBytes` bytes from `start` on, which lie in the array. */
  view(start: number, lengthBytes: number): Uint8Array {
    const place = (start >>> PIECE_SHIFT) & (VIEWS - 1);
    const known = this.#views[place];
    if (known !== undefined && this.#starts[place] === start && known.length === lengthBytes) return known;
    const made = this.#bytes.subarray(start, start + lengthBytes);
    this.#views[place] = made;
    this.#starts[place] = start;
    return made;
  }
}
