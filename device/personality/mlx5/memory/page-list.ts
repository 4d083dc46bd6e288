// SPDX-License-Identifier: Apache-2.0
/**
 * A buffer that a command has described by a list of pages: where each byte of it lies in guest
 * memory. The list stays in the device, so nothing of it can change behind it.
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import type { Dma } from '../../../hca/function/dma.ts';

const ADDRESS_BYTES = 8;
/** Pages of the interface: all lists have pages of this size or larger. */
export const LOG_LEAST_PAGE = 12;

/** Bytes that a list of `count` pages has in a command. */
export function listBytes(count: number): number {
  return count * ADDRESS_BYTES;
}

/** The list of `count` pages at `at`; undefined when one does not begin where a page can. */
export function readPages(view: DataView, at: number, count: number): Float64Array | undefined {
  const pages = Float64Array.from({ length: count }, (_, index) => {
    const entry = at + index * ADDRESS_BYTES;
    return joinDwords(view.getUint32(entry + 4), view.getUint32(entry));
  });
  return pages.every((page) => page % 2 ** LOG_LEAST_PAGE === 0) ? pages : undefined;
}

/** Writes a list of pages to `at`. */
export function writePages(view: DataView, at: number, pages: readonly number[]): void {
  for (const [index, page] of pages.entries()) view.setBigUint64(at + index * ADDRESS_BYTES, BigInt(page));
}

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

  /** The bus address of the byte at `offset`, which lies in the buffer. */
  addressOf(offset: number): number {
    const at = this.#start + offset;
    return this.#pages[Math.floor(at / this.#pageBytes)] + (at % this.#pageBytes);
  }

  /** True when the bytes lie in one page. */
  isInPage(offset: number, lengthBytes: number): boolean {
    return ((this.#start + offset) % this.#pageBytes) + lengthBytes <= this.#pageBytes;
  }

  /**
   * Sets `dma` to the byte at `offset`. Returns how many of `lengthBytes` from there on lie in one
   * page.
   */
  locate(dma: Dma, offset: number, lengthBytes: number): number {
    const at = this.#start + offset;
    const page = Math.floor(at / this.#pageBytes);
    const inPage = at - page * this.#pageBytes;
    dma.at(this.#pages[page] + inPage);
    return Math.min(lengthBytes, this.#pageBytes - inPage);
  }
}
