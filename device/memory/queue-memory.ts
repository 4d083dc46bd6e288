// SPDX-License-Identifier: Apache-2.0
/** Where a queue lies in guest memory: in one piece, or in pages. Entries are powers of two no larger than a page, so none crosses pages. */
import { joinDwords } from '../../protocol/layout/dwords.ts';
import type { Dma } from '../function/dma.ts';

/** log2 of the smallest and of the largest page software may name. */
export const PAGE_SHIFT_MIN = 12;
export const PAGE_SHIFT_MAX = 31;

const ADDRESS_BYTES = 8;

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

  /** Reads the page list; undefined when it cannot be read or names a page that is not page-aligned. */
  static fetchPaged(dma: Dma, listAddress: number, sizeBytes: number, pageShift: number): QueueMemory | undefined {
    const pages = fetchPageList(dma, listAddress, Math.ceil(sizeBytes / 2 ** pageShift), pageShift);
    return pages && new QueueMemory(0, pages, pageShift);
  }

  /** Guest address of the byte at `offset` of the queue. */
  addressOf(offset: number): number {
    if (this.#pages === undefined) return this.#base + offset;
    const page = Math.floor(offset / this.#pageBytes);
    return this.#pages[page] + (offset - page * this.#pageBytes);
  }
}

/** Reads an array of 8-byte page addresses; undefined when unreadable or when an address is not a multiple of the page size. */
export function fetchPageList(
  dma: Dma,
  listAddress: number,
  count: number,
  pageShift: number,
): Float64Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(count * ADDRESS_BYTES);
  if (!dma.read(0, listAddress, bytes.length, bytes, 0)) return undefined;
  const view = new DataView(bytes.buffer);
  const pages = new Float64Array(count);
  const pageBytes = 2 ** pageShift;
  for (let index = 0; index < count; index++) {
    const at = index * ADDRESS_BYTES;
    const address = joinDwords(view.getUint32(at, true), view.getUint32(at + 4, true));
    if (address % pageBytes !== 0) return undefined;
    pages[index] = address;
  }
  return pages;
}
