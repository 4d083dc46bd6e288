// SPDX-License-Identifier: Apache-2.0
/**
 * Lists of page addresses in guest memory, direct or indirect: an indirect list lies in pages of
 * its own, and a directory lists these. Commands read a list in steps, so that a long one delays no
 * other function.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import type { Dma } from '../function/dma.ts';
import { PAGE_LIST } from '../function/fault-log.ts';

/** log2 of the smallest and largest page size that software may name. */
export const PAGE_SHIFT_MIN = 12;
export const PAGE_SHIFT_MAX = 31;

const ADDRESS_BYTES = 8;
/** Entries in a page of an indirect list, and of one step. */
export const LIST_PAGE_ENTRIES = 2 ** PAGE_SHIFT_MIN / ADDRESS_BYTES;

/** A page list as software describes it. */
export interface PageListRequest {
  readonly address: number;
  readonly count: number;
  readonly pageShift: number;
  readonly indirect: boolean;
}

/** What the steps of a command have come to. */
export type StepResult = 'more' | 'done' | 'failed';

/** The bytes of one page of a list. */
const chunk = new Uint8Array(2 ** PAGE_SHIFT_MIN);
const chunkView = new DataView(chunk.buffer);

/** A page list that is being read. */
export class PageListRead {
  readonly pages: Float64Array<ArrayBuffer>;
  readonly #request: PageListRequest;
  #done = 0;

  constructor(request: PageListRequest) {
    this.#request = request;
    this.pages = new Float64Array(request.count);
  }

  /**
   * Reads the next entries, at most a page of them, until all are read. Fails when they cannot be
   * read, which is a counted fault, or when an address is not a multiple of the page size.
   */
  step(dma: Dma): StepResult {
    const { address, count, pageShift, indirect } = this.#request;
    const first = this.#done;
    if (first === count) return 'done';
    const end = Math.min(first + LIST_PAGE_ENTRIES, count);
    const from = indirect ? readDirectory(dma, address, first / LIST_PAGE_ENTRIES) : address + first * ADDRESS_BYTES;
    if (from === undefined || !readEntries(dma, from, this.pages, first, end)) return 'failed';
    if (!areAligned(this.pages, first, end, pageShift)) return 'failed';
    this.#done = end;
    return end === count ? 'done' : 'more';
  }
}

/**
 * Reads the addresses of `count` pages from a list in guest memory; undefined, with a counted
 * fault, when it cannot be read.
 */
export function readPageList(dma: Dma, listAddress: number, count: number): Float64Array<ArrayBuffer> | undefined {
  const pages = new Float64Array(count);
  for (let first = 0; first < count; first += LIST_PAGE_ENTRIES) {
    const end = Math.min(first + LIST_PAGE_ENTRIES, count);
    if (!readEntries(dma, listAddress + first * ADDRESS_BYTES, pages, first, end)) return undefined;
  }
  return pages;
}

/** True when each page begins at a multiple of the size of a page. */
export function arePagesAligned(pages: Float64Array, pageShift: number): boolean {
  return areAligned(pages, 0, pages.length, pageShift);
}

/** Address of a page of an indirect list; undefined when it has none. */
function readDirectory(dma: Dma, directory: number, index: number): number | undefined {
  if (!dma.at(directory + index * ADDRESS_BYTES).read(PAGE_LIST, ADDRESS_BYTES, chunk, 0)) return undefined;
  const page = readAddress(0);
  return page % 2 ** PAGE_SHIFT_MIN === 0 ? page : undefined;
}

/** Reads entries into `pages` from index `first` to `end`, at most a page of them. */
function readEntries(dma: Dma, address: number, pages: Float64Array, first: number, end: number): boolean {
  if (!dma.at(address).read(PAGE_LIST, (end - first) * ADDRESS_BYTES, chunk, 0)) return false;
  for (let index = first; index < end; index++) pages[index] = readAddress((index - first) * ADDRESS_BYTES);
  return true;
}

function readAddress(at: number): number {
  return joinDwords(chunkView.getUint32(at, true), chunkView.getUint32(at + 4, true));
}

function areAligned(pages: Float64Array, first: number, end: number, pageShift: number): boolean {
  const pageBytes = 2 ** pageShift;
  for (let index = first; index < end; index++) if (pages[index] % pageBytes !== 0) return false;
  return true;
}
