// SPDX-License-Identifier: Apache-2.0
/**
 * Guest memory of a queue, contiguous or in a list of pages (IBTA 10.2). The size of an entry is a
 * power of two of at most a page, so no entry crosses pages. Management commands make one for each
 * queue; the queue asks it for the addresses of its entries.
 */
import { compact, packAddress, unpackAddress } from '../function/compact-number.ts';
import type { Dma } from '../function/dma.ts';

/** In place of the packed address of contiguous memory. */
const PAGED = -1;

export class QueueMemory {
  /**
   * Packed address, or -1 for a list of pages. Queues keep a copy for `locateEntry`, so that most
   * of them do not need this object for an entry.
   */
  readonly packedBase: number;
  readonly #pages: Float64Array | undefined;
  readonly #pageBytes: number;

  private constructor(base: number, pages: Float64Array | undefined, pageShift: number) {
    this.packedBase = pages === undefined ? packAddress(base) : PAGED;
    this.#pages = pages;
    this.#pageBytes = compact(2 ** pageShift);
  }

  static contiguous(base: number): QueueMemory {
    return new QueueMemory(base, undefined, 0);
  }

  /** `pages`: their addresses, in the order of the queue. */
  static paged(pages: Float64Array, pageShift: number): QueueMemory {
    return new QueueMemory(0, pages, pageShift);
  }

  /** Entries of the translation table that it takes. */
  get translationEntries(): number {
    return this.#pages?.length ?? 0;
  }

  /** Guest address of the first byte. */
  get address(): number {
    return this.#pages === undefined ? unpackAddress(this.packedBase) : this.#pages[0];
  }

  /** Sets the address of `dma` to that of the byte at `offset` of the queue. */
  at(dma: Dma, offset: number): Dma {
    if (this.#pages === undefined) return locateEntry(dma, this.packedBase, this, offset);
    const page = Math.floor(offset / this.#pageBytes);
    return dma.at(this.#pages[page] + (offset - page * this.#pageBytes));
  }
}

/** As `memory.at`; `packedBase` is that of `memory`, which only a list of pages needs. */
export function locateEntry(dma: Dma, packedBase: number, memory: QueueMemory, offset: number): Dma {
  return packedBase < 0 ? memory.at(dma, offset) : dma.at(unpackAddress(packedBase) + offset);
}
