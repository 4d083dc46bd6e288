// SPDX-License-Identifier: Apache-2.0
/**
 * A memory region that the HCA owns: its entry of the protection table, and the translation of its
 * virtual addresses through entries that software keeps in context memory. A region remembers those
 * of a few pages, as long as `ContextMemory.version` says. `MemoryRegions` finds it by key.
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import type { MptEntry } from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import {
  getMttEntryPageHigh,
  getMttEntryPageLow,
  getMttEntryPresent,
  MTT_ENTRY_SIZE,
} from '../../../../protocol/mthca/gen/mtt-entry.gen.ts';
import { type Dma, STORE_BYTES } from '../../../hca/function/dma.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { RegionPort } from '../../../hca/protection/key-lookup.ts';
import type { WordBlock } from '../../../host.ts';
import type { ContextMemory } from './context-memory.ts';

/** Translations that a region remembers, a power of two: by the lowest bits of the page. */
const REMEMBERED = 16;
/** Page of a place that remembers none. */
const NO_PAGE = -1;

/** The translation entry that was read last. */
const translation = new Uint8Array(MTT_ENTRY_SIZE);
const translationView = new DataView(translation.buffer);

/** Of a region that was not used yet. */
const NOTHING = new Float64Array(0);

export class Region implements RegionPort {
  readonly owner: UnderlyingFunction;
  readonly entry: Readonly<MptEntry>;
  /** `KeyRight` flags. */
  readonly rights: number;
  readonly #pageBytes: number;
  readonly #firstPage: number;
  readonly #icm: ContextMemory;
  /** Pages from the first one that are remembered, and their guest addresses. */
  #pages = NOTHING;
  #addresses = NOTHING;
  /** Version of context memory that they were read from. */
  #version = -1;

  constructor(owner: UnderlyingFunction, icm: ContextMemory, entry: Readonly<MptEntry>, rights: number) {
    this.owner = owner;
    this.entry = entry;
    this.rights = rights;
    this.#pageBytes = ICM_PAGE_BYTES * 2 ** entry.logPageSize;
    this.#firstPage = Math.floor(entry.start / this.#pageBytes);
    this.#icm = icm;
  }

  isPresent(): boolean {
    return true;
  }

  read(dma: Dma, subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    if (this.entry.physical === 1) return dma.readBlock(subject, lengthBytes, target, targetOffset);
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.locate(dma.at(address + done), subject, lengthBytes - done);
      if (piece === 0 || !dma.readBlock(subject, piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  write(dma: Dma, subject: FaultSubject, lengthBytes: number, source: WordBlock, sourceOffset: number): boolean {
    if (this.entry.physical === 1) return dma.writeBlock(subject, source, sourceOffset, lengthBytes);
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.locate(dma.at(address + done), subject, lengthBytes - done);
      if (piece === 0 || !dma.writeBlock(subject, source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  store(dma: Dma, subject: FaultSubject, source: WordBlock): boolean {
    const { address } = dma;
    const piece = this.locate(dma, subject, STORE_BYTES);
    if (piece === STORE_BYTES) return dma.store(subject, source);
    return piece > 0 && this.write(dma.at(address), subject, STORE_BYTES, source, 0);
  }

  /**
   * Replaces the virtual address in `dma` by the guest address. Returns how many of `lengthBytes`
   * from there on lie in one page; 0, with a fault, when the address has no page. Addresses stay in
   * `dma`, because V8 allocates for one that a call returns.
   */
  locate(dma: Dma, subject: FaultSubject, lengthBytes: number): number {
    if (this.entry.physical === 1) return lengthBytes;
    const { address } = dma;
    const page = Math.floor(address / this.#pageBytes);
    const inPage = address - page * this.#pageBytes;
    const number = page - this.#firstPage;
    const place = number & (REMEMBERED - 1);
    if (this.#version !== this.#icm.version) this.#forget();
    if (this.#pages[place] !== number && !this.#read(dma, subject, number, place)) return 0;
    dma.at(this.#addresses[place] + inPage);
    return Math.min(lengthBytes, this.#pageBytes - inPage);
  }

  #forget(): void {
    if (this.#pages === NOTHING) {
      this.#pages = new Float64Array(REMEMBERED);
      this.#addresses = new Float64Array(REMEMBERED);
    }
    this.#pages.fill(NO_PAGE);
    this.#version = this.#icm.version;
  }

  /** Reads the entry of a page. Returns false, with a fault, when it has none. */
  #read(dma: Dma, subject: FaultSubject, number: number, place: number): boolean {
    const { address } = dma;
    dma.at(this.entry.translation + number * MTT_ENTRY_SIZE);
    const isMapped = this.#icm.enter(dma);
    if (isMapped && !dma.read(subject, MTT_ENTRY_SIZE, translation, 0)) return false;
    if (!isMapped || getMttEntryPresent(translationView, 0) === 0) {
      this.owner.faults.report(FaultKind.DMA_READ, subject, address);
      return false;
    }
    const pageLow = getMttEntryPageLow(translationView, 0) * ICM_PAGE_BYTES;
    this.#pages[place] = number;
    this.#addresses[place] = joinDwords(pageLow, getMttEntryPageHigh(translationView, 0));
    return true;
  }
}
