// SPDX-License-Identifier: Apache-2.0
/**
 * Context memory (ICM): an address space of the HCA that the driver backs by guest pages with
 * MAP_ICM. Tables of contexts, translation entries and doorbell records lie in it. It translates
 * addresses of this space into guest addresses; commands and memory regions use it.
 */
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import type { Dma } from '../../../hca/function/dma.ts';

/** Guest address of a page that is not mapped. */
export const NOT_MAPPED = -1;

const CHUNK_PAGES = 512;

export class ContextMemory {
  /**
   * Another number when translation entries may have changed: drivers write them before SW2HW_MPT,
   * or say so by SYNC_TPT and WRITE_MTT. Regions remember what they have read until then.
   */
  version = 0;
  /** As SET_ICM_SIZE gave it; 0 before. */
  #sizeBytes = 0;
  #mappedPages = 0;
  /** Guest addresses of pages, in chunks that are made when a page of them is mapped. */
  readonly #chunks = new Map<number, Float64Array>();

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get mappedPages(): number {
    return this.#mappedPages;
  }

  reset(): void {
    this.setSize(0);
  }

  /** Sets the size; nothing is mapped afterwards. */
  setSize(sizeBytes: number): void {
    this.noteChange();
    this.#chunks.clear();
    this.#mappedPages = 0;
    this.#sizeBytes = sizeBytes;
  }

  /** Entries in it may have changed: what was remembered of them is read again. */
  noteChange(): void {
    this.version = (this.version + 1) | 0;
  }

  /** True when the range is inside the size. */
  contains(address: number, lengthBytes: number): boolean {
    return address + lengthBytes <= this.#sizeBytes;
  }

  /** Maps pages inside the size, in place of guest pages that were there. */
  map(address: number, guestAddress: number, pages: number): void {
    this.noteChange();
    const first = address / ICM_PAGE_BYTES;
    for (let done = 0; done < pages; )
      done += this.#mapChunk(first + done, guestAddress + done * ICM_PAGE_BYTES, pages - done);
  }

  /**
   * Removes pages; those that are not mapped stay so. Drivers unmap whole chunks, of which the last
   * pages may lie behind the end.
   */
  unmap(address: number, pages: number): void {
    this.noteChange();
    const first = address / ICM_PAGE_BYTES;
    const end = Math.min(first + pages, Math.ceil(this.#sizeBytes / ICM_PAGE_BYTES));
    for (let page = first; page < end; ) page += this.#unmapChunk(page, end - page);
  }

  /** The guest address of an address, or NOT_MAPPED. Contiguous to the end of the page only. */
  resolve(address: number): number {
    const page = this.#pageAt(Math.floor(address / ICM_PAGE_BYTES));
    return page === NOT_MAPPED ? NOT_MAPPED : page + (address % ICM_PAGE_BYTES);
  }

  /**
   * Replaces the address in `dma`, of this memory, by the guest address. Returns false when its
   * page is not mapped.
   */
  enter(dma: Dma): boolean {
    const { address } = dma;
    const page = Math.floor(address / ICM_PAGE_BYTES);
    const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES));
    if (chunk === undefined || chunk[page % CHUNK_PAGES] === NOT_MAPPED) return false;
    dma.at(chunk[page % CHUNK_PAGES] + (address - page * ICM_PAGE_BYTES));
    return true;
  }

  /** True when every page of the range is mapped. */
  isMapped(address: number, lengthBytes: number): boolean {
    const last = Math.floor((address + lengthBytes - 1) / ICM_PAGE_BYTES);
    for (let page = Math.floor(address / ICM_PAGE_BYTES); page <= last; page++)
      if (this.#pageAt(page) === NOT_MAPPED) return false;
    return true;
  }

  #pageAt(page: number): number {
    const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES));
    return chunk === undefined ? NOT_MAPPED : chunk[page % CHUNK_PAGES];
  }

  /** Maps those of `pages` from `first` on that are in one chunk; returns how many. */
  #mapChunk(first: number, guestAddress: number, pages: number): number {
    const number = Math.floor(first / CHUNK_PAGES);
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) {
      chunk = new Float64Array(CHUNK_PAGES).fill(NOT_MAPPED);
      this.#chunks.set(number, chunk);
    }
    const from = first % CHUNK_PAGES;
    const end = Math.min(from + pages, CHUNK_PAGES);
    this.#mappedPages += end - from - countMapped(chunk, from, end);
    for (let index = from; index < end; index++) chunk[index] = guestAddress + (index - from) * ICM_PAGE_BYTES;
    return end - from;
  }

  /** Removes those of `pages` from `first` on that are in one chunk; returns how many. */
  #unmapChunk(first: number, pages: number): number {
    const number = Math.floor(first / CHUNK_PAGES);
    const chunk = this.#chunks.get(number);
    const from = first % CHUNK_PAGES;
    const end = Math.min(from + pages, CHUNK_PAGES);
    if (chunk !== undefined) this.#mappedPages -= countMapped(chunk, from, end);
    if (end - from === CHUNK_PAGES) this.#chunks.delete(number);
    else chunk?.fill(NOT_MAPPED, from, end);
    return end - from;
  }
}

function countMapped(chunk: Float64Array, from: number, end: number): number {
  let count = 0;
  for (let index = from; index < end; index++) if (chunk[index] !== NOT_MAPPED) count++;
  return count;
}
