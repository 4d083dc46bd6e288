// SPDX-License-Identifier: Apache-2.0
/**
 * Memory region whose pages software makes present when they are accessed, and takes back
 * (docs/FEATURES.md, On-demand paging). An access finds all its pages present or moves no byte:
 * it returns false and leaves a miss in `PageFaults`. The key check is that of other regions.
 */
import { PageFlag } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import { type Dma, STORE_BYTES } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { MemoryRegion } from './memory-region.ts';
import { PageDirectory } from './page-directory.ts';
import type { FaultingRegion, PageFault, PageFaults } from './page-faults.ts';
import { PAGE_SIZES } from './page-size.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** Bits of a directory entry that are no address. */
const FLAGS = PageFlag.PRESENT | PageFlag.WRITABLE;

export class OnDemandRegion extends MemoryRegion implements FaultingRegion {
  readonly faults = new Map<number, PageFault>();
  readonly directory: PageDirectory;
  readonly #pageFaults: PageFaults;

  /** `reserved`: translation entries that were taken for it. */
  constructor(number: number, pd: ProtectionDomain, pageFaults: PageFaults, reserved: number) {
    super(number, pd);
    this.directory = new PageDirectory(pd.owner.translations, reserved);
    this.#pageFaults = pageFaults;
  }

  override get translationEntries(): number {
    return this.directory.entries;
  }

  pageOf(address: number): number {
    return Math.floor(address / PAGE_SIZES[this.pageShift]);
  }

  override isPresent(address: number, lengthBytes: number): boolean {
    return this.#find(address, lengthBytes, false);
  }

  override read(
    dma: Dma,
    subject: FaultSubject,
    lengthBytes: number,
    target: WordBlock,
    targetOffset: number,
  ): boolean {
    const { address } = dma;
    if (!this.#find(address, lengthBytes, false)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locate(dma, address + done, lengthBytes - done);
      if (!dma.readBlock(subject, piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  override write(
    dma: Dma,
    subject: FaultSubject,
    lengthBytes: number,
    source: WordBlock,
    sourceOffset: number,
  ): boolean {
    const { address } = dma;
    if (!this.#find(address, lengthBytes, true)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locate(dma, address + done, lengthBytes - done);
      if (!dma.writeBlock(subject, source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  override store(dma: Dma, subject: FaultSubject, source: WordBlock): boolean {
    const { address } = dma;
    if (!this.#find(address, STORE_BYTES, true)) return false;
    this.#locate(dma, address, STORE_BYTES);
    return dma.store(subject, source);
  }

  /** Returns true when all pages may be read, or written, now; else leaves a miss. */
  #find(address: number, lengthBytes: number, isWrite: boolean): boolean {
    const flag = isWrite ? PageFlag.WRITABLE : PageFlag.PRESENT;
    const last = this.pageOf(address + lengthBytes - 1);
    for (let page = this.pageOf(address); page <= last; page++) {
      if (this.directory.get(page) & flag) continue;
      const from = Math.max(address, page * PAGE_SIZES[this.pageShift]);
      this.#pageFaults.miss(this, from, address + lengthBytes - from, isWrite);
      return false;
    }
    return true;
  }

  /**
   * Sets `dma` to the guest address of `address`, whose page is present. Returns how many of
   * `lengthBytes` from there on lie in the page.
   */
  #locate(dma: Dma, address: number, lengthBytes: number): number {
    const pageBytes = PAGE_SIZES[this.pageShift];
    const page = this.pageOf(address);
    const inPage = address - page * pageBytes;
    const entry = this.directory.get(page);
    dma.at(entry - (entry % (FLAGS + 1)) + inPage);
    return Math.min(lengthBytes, pageBytes - inPage);
  }
}
