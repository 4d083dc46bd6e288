// SPDX-License-Identifier: Apache-2.0
/**
 * A buffer that a command has described by a list of pages: where each byte of it lies in guest
 * memory. The list stays in the device, so nothing of it can change behind it.
 */

export class PageList {
  /** Bus addresses of the pages. */
  readonly #pages: Float64Array;
  readonly #pageBytes: number;
  /** Offset of the buffer in its first page, in bytes. */
  readonly #start: number;

  constructor(pages: Float64Array, pageBytes: number, startBytes = 0) {
    this.#pages = pages;
    this.#pageBytes = pageBytes;
    this.#start = startBytes;
  }

  /** Bytes from the start of the buffer to the end of the last page. */
  get lengthBytes(): number {
    return this.#pages.length * this.#pageBytes - this.#start;
  }

  /** The bus address of the byte at `offset`, which lies in the buffer. */
  addressOf(offset: number): number {
    const at = this.#start + offset;
    return this.#pages[Math.floor(at / this.#pageBytes)] + (at % this.#pageBytes);
  }
}
