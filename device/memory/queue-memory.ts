// SPDX-License-Identifier: Apache-2.0
/**
 * Guest memory of a queue, contiguous or in a list of pages (IBTA 10.2). The size of an entry is a
 * power of two of at most a page, so no entry crosses pages. Management commands make one for each
 * queue; the queue asks it for the addresses of its entries.
 */

import { joinDwords } from '../../protocol/layout/dwords.ts';
import type { Dma } from '../function/dma.ts';
import { PAGE_LIST } from '../function/fault-log.ts';

/** log2 of the smallest and largest page size that software may name. */
export const PAGE_SHIFT_MIN = 12;
export const PAGE_SHIFT_MAX = 31;

const ADDRESS_BYTES = 8;
/** Entries in a page of an indirect list. */
const LIST_PAGE_ENTRIES = 2 ** PAGE_SHIFT_MIN / ADDRESS_BYTES;

export class QueueMemory {
  readonly #base: number;
  readonly #pages: Float64Array | undefined;
  readonly #pageBytes: number;

  private constructor(base: number, pages: Float64Array | undefined, pageShift: number) {
    this.#base = base;
    this.#pages = pages;
    this.#pageBytes = 2 ** pageShift;
  }

  static contiguous(base: number): QueueMemory {
    return new QueueMemory(base, undefined, 0);
  }

  /**
   * Reads the page list. Returns undefined when the list cannot be read, or when a page address in
   * it is not a multiple of the page size.
   */
  static fetchPaged(dma: Dma, listAddress: number, sizeBytes: number, pageShift: number): QueueMemory | undefined {
    const pages = fetchPageList(dma, listAddress, Math.ceil(sizeBytes / 2 ** pageShift), pageShift);
    return pages && new QueueMemory(0, pages, pageShift);
  }

  /** Guest address of the first byte. */
  get address(): number {
    return this.#pages === undefined ? this.#base : this.#pages[0];
  }

  /** Sets the address of `dma` to that of the byte at `offset` of the queue. */
  at(dma: Dma, offset: number): Dma {
    if (this.#pages === undefined) return dma.at(this.#base + offset);
    const page = Math.floor(offset / this.#pageBytes);
    return dma.at(this.#pages[page] + (offset - page * this.#pageBytes));
  }
}

/**
 * Reads the addresses of `count` pages from a list in guest memory; undefined, with a counted
 * fault, when it cannot be read.
 */
export function readPageList(dma: Dma, listAddress: number, count: number): Float64Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(count * ADDRESS_BYTES);
  if (!dma.at(listAddress).read(PAGE_LIST, bytes.length, bytes, 0)) return undefined;
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: count }, (_, index) => {
    const at = index * ADDRESS_BYTES;
    return joinDwords(view.getUint32(at, true), view.getUint32(at + 4, true));
  });
}

/**
 * As `readPageList`; the list lies in pages of its own, and `directoryAddress` is that of a list of
 * these.
 */
export function readIndirectPageList(
  dma: Dma,
  directoryAddress: number,
  count: number,
): Float64Array<ArrayBuffer> | undefined {
  const directory = readPageList(dma, directoryAddress, Math.ceil(count / LIST_PAGE_ENTRIES));
  if (directory === undefined || !arePagesAligned(directory, PAGE_SHIFT_MIN)) return undefined;
  const pages = new Float64Array(count);
  for (const [index, address] of directory.entries()) {
    const first = index * LIST_PAGE_ENTRIES;
    const part = readPageList(dma, address, Math.min(LIST_PAGE_ENTRIES, count - first));
    if (part === undefined) return undefined;
    pages.set(part, first);
  }
  return pages;
}

/** True when each page begins at a multiple of the size of a page. */
export function arePagesAligned(pages: Float64Array, pageShift: number): boolean {
  const pageBytes = 2 ** pageShift;
  return pages.every((address) => address % pageBytes === 0);
}

/** As `readPageList`, direct or indirect; also undefined when a page is not aligned. */
export function fetchPageList(
  dma: Dma,
  listAddress: number,
  count: number,
  pageShift: number,
  isIndirect = false,
): Float64Array<ArrayBuffer> | undefined {
  const pages = isIndirect ? readIndirectPageList(dma, listAddress, count) : readPageList(dma, listAddress, count);
  return pages !== undefined && arePagesAligned(pages, pageShift) ? pages : undefined;
}
