// SPDX-License-Identifier: Apache-2.0
/**
 * Memory region: the rights of a key, and the translation of its virtual addresses to guest
 * addresses (IBTA 10.6). For every access of a work request to guest memory, units call `KeyCheck`
 * first and then `read` or `write` of the region.
 */
import { makeKey } from '../../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, MrKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import { type Dma, STORE_BYTES } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { RegionPort } from './key-lookup.ts';
import { PAGE_SIZES } from './page-size.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** All bits that an access field may have. */
export const ALL_ACCESS = Object.values(AccessFlag).reduce((all, flag) => all | flag, 0);
/** Remote rights that require local write access (IBTA 10.6.3.1). */
export const REMOTE_CHANGES = AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_ATOMIC;
/** Rights to have memory flushed. */
export const FLUSH_RIGHTS = AccessFlag.FLUSH_GLOBAL | AccessFlag.FLUSH_PERSISTENT;

export class MemoryRegion implements RegionPort {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  pd: ProtectionDomain;
  kind: number = MrKind.PHYSICAL;
  access = 0;
  startAddress = 0;
  length = 0;
  pageShift = 12;
  pages = new Float64Array(0);
  keyByte = 0;
  /** False for a FAST region that is not registered: its key gives no access. */
  valid = true;
  /** Largest number of pages of a FAST region. */
  maxPages = 0;
  /** Number of memory windows bound to it. */
  windows = 0;

  constructor(number: number, pd: ProtectionDomain) {
    this.number = number;
    this.owner = pd.owner;
    this.pd = pd;
  }

  /** L_Key, and R_Key if the region grants remote access. */
  get key(): number {
    return makeKey(this.number, this.keyByte);
  }

  /** Entries of the translation table that it takes. */
  get translationEntries(): number {
    return Math.max(this.pages.length, this.maxPages);
  }

  isPresent(_address: number, _lengthBytes: number): boolean {
    return true;
  }

  /** See `RegionPort`; the range was checked. */
  read(dma: Dma, subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    if (this.kind === MrKind.PHYSICAL) return this.#locate(dma).readBlock(subject, lengthBytes, target, targetOffset);
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locateInPage(dma.at(address + done), lengthBytes - done);
      if (!dma.readBlock(subject, piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  write(dma: Dma, subject: FaultSubject, lengthBytes: number, source: WordBlock, sourceOffset: number): boolean {
    if (this.kind === MrKind.PHYSICAL) return this.#locate(dma).writeBlock(subject, source, sourceOffset, lengthBytes);
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locateInPage(dma.at(address + done), lengthBytes - done);
      if (!dma.writeBlock(subject, source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  store(dma: Dma, subject: FaultSubject, source: WordBlock): boolean {
    const { address } = dma;
    if (this.kind === MrKind.PHYSICAL) return this.#locate(dma).store(subject, source);
    const isInPage = this.#locateInPage(dma, STORE_BYTES) === STORE_BYTES;
    return isInPage ? dma.store(subject, source) : this.write(dma.at(address), subject, STORE_BYTES, source, 0);
  }

  /** Replaces the virtual address in `dma` by the guest address, in a region without pages. */
  #locate(dma: Dma): Dma {
    return this.access & AccessFlag.ZERO_BASED ? dma.at(this.startAddress + dma.address) : dma;
  }

  /**
   * As `#locate`, in a region with pages. Returns how many of `lengthBytes` from there on lie in
   * one page.
   */
  #locateInPage(dma: Dma, lengthBytes: number): number {
    const pageBytes = PAGE_SIZES[this.pageShift];
    const firstPage = Math.floor(this.startAddress / pageBytes) * pageBytes;
    // The addresses of a zero-based region count from its own first byte, whose place in the page
    // `startAddress` gives (IBTA 10.6.2).
    const base = this.access & AccessFlag.ZERO_BASED ? firstPage - this.startAddress : firstPage;
    const offset = dma.address - base;
    const page = Math.floor(offset / pageBytes);
    const inPage = offset - page * pageBytes;
    dma.at(this.pages[page] + inPage);
    return Math.min(lengthBytes, pageBytes - inPage);
  }
}
