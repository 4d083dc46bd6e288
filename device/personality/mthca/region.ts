// SPDX-License-Identifier: Apache-2.0
/**
 * A memory region that the HCA owns: its entry of the protection table, and the translation of its
 * virtual addresses through entries that software keeps in context memory. Software writes those
 * without a command, so each access reads them. `MemoryRegions` finds it by key.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { ICM_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import type { MptEntry } from '../../../protocol/mthca/gen/mpt-entry.gen.ts';
import {
  getMttEntryPageHigh,
  getMttEntryPageLow,
  getMttEntryPresent,
  MTT_ENTRY_SIZE,
} from '../../../protocol/mthca/gen/mtt-entry.gen.ts';
import type { Dma } from '../../function/dma.ts';
import type { FaultSubject } from '../../function/fault-log.ts';
import type { UnderlyingFunction } from '../../function/underlying-function.ts';
import type { WordBlock } from '../../host.ts';
import type { RegionPort } from '../../protection/key-lookup.ts';
import { type ContextMemory, NOT_MAPPED } from './context-memory.ts';

/** The translation entry that was read last. */
const translation = new Uint8Array(MTT_ENTRY_SIZE);
const translationView = new DataView(translation.buffer);

export class Region implements RegionPort {
  readonly owner: UnderlyingFunction;
  readonly entry: Readonly<MptEntry>;
  /** `RegionAccess` flags. */
  readonly rights: number;
  readonly #pageBytes: number;
  readonly #firstPage: number;
  readonly #icm: ContextMemory;

  constructor(owner: UnderlyingFunction, icm: ContextMemory, entry: Readonly<MptEntry>, rights: number) {
    this.owner = owner;
    this.entry = entry;
    this.rights = rights;
    this.#pageBytes = ICM_PAGE_BYTES * 2 ** entry.logPageSize;
    this.#firstPage = Math.floor(entry.start / this.#pageBytes);
    this.#icm = icm;
  }

  /** The guest address of a virtual address, or NOT_MAPPED. */
  locate(dma: Dma, subject: FaultSubject, address: number): number {
    if (this.entry.physical === 1) return address;
    const page = Math.floor(address / this.#pageBytes);
    const at = this.#icm.resolve(this.entry.translation + (page - this.#firstPage) * MTT_ENTRY_SIZE);
    if (at === NOT_MAPPED || !dma.at(at).read(subject, MTT_ENTRY_SIZE, translation, 0)) return NOT_MAPPED;
    if (getMttEntryPresent(translationView, 0) === 0) return NOT_MAPPED;
    const base = joinDwords(
      getMttEntryPageLow(translationView, 0) * ICM_PAGE_BYTES,
      getMttEntryPageHigh(translationView, 0),
    );
    return base + (address - page * this.#pageBytes);
  }

  /** How many of `lengthBytes` from a virtual address on lie in one page. */
  contiguousBytes(address: number, lengthBytes: number): number {
    return this.entry.physical === 1
      ? lengthBytes
      : Math.min(lengthBytes, this.#pageBytes - (address % this.#pageBytes));
  }

  read(dma: Dma, subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    const start = dma.address;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.contiguousBytes(start + done, lengthBytes - done);
      if (!this.#enter(dma, subject, start + done)) return false;
      if (!dma.readBlock(subject, piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  write(dma: Dma, subject: FaultSubject, lengthBytes: number, source: WordBlock, sourceOffset: number): boolean {
    const start = dma.address;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.contiguousBytes(start + done, lengthBytes - done);
      if (!this.#enter(dma, subject, start + done)) return false;
      if (!dma.writeBlock(subject, source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  /**
   * Sets `dma` to the guest address of a virtual address. Returns false, with a fault, when there
   * is none.
   */
  #enter(dma: Dma, subject: FaultSubject, address: number): boolean {
    const at = this.locate(dma, subject, address);
    if (at === NOT_MAPPED) this.owner.faults.report(FaultKind.DMA_READ, subject, address);
    else dma.at(at);
    return at !== NOT_MAPPED;
  }
}
