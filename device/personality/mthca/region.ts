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
import type { ContextMemory } from './context-memory.ts';

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
    dma.at(this.entry.translation + (page - this.#firstPage) * MTT_ENTRY_SIZE);
    const isMapped = this.#icm.enter(dma);
    if (isMapped && !dma.read(subject, MTT_ENTRY_SIZE, translation, 0)) return 0;
    if (!isMapped || getMttEntryPresent(translationView, 0) === 0) {
      this.owner.faults.report(FaultKind.DMA_READ, subject, address);
      return 0;
    }
    const pageLow = getMttEntryPageLow(translationView, 0) * ICM_PAGE_BYTES;
    dma.at(joinDwords(pageLow, getMttEntryPageHigh(translationView, 0)) + inPage);
    return Math.min(lengthBytes, this.#pageBytes - inPage);
  }
}
