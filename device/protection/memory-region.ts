// SPDX-License-Identifier: Apache-2.0
/**
 * Memory region: the rights of a key, and the translation of its virtual addresses to guest
 * addresses (IBTA 10.6). For every access of a work request to guest memory, units call `KeyCheck`
 * first and then `read` or `write` of the region.
 */
import { makeKey } from '../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, MrKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { WordBlock } from '../host.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** All bits that an access field may have. */
export const ALL_ACCESS = Object.values(AccessFlag).reduce((all, flag) => all | flag, 0);
/** Remote rights that require local write access (IBTA 10.6.3.1). */
export const REMOTE_CHANGES = AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_ATOMIC;

export class MemoryRegion {
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

  /**
   * Virtual address of the first byte of the first page. The addresses of a zero-based region count
   * from its own first byte, whose place in the page `startAddress` gives (IBTA 10.6.2).
   */
  get #firstPageBase(): number {
    const inPage = this.startAddress % 2 ** this.pageShift;
    return this.access & AccessFlag.ZERO_BASED ? -inPage : this.startAddress - inPage;
  }

  /**
   * Copies from guest memory a range that was checked. `object` is the number of the object, for
   * the fault record. Returns false after a bus fault.
   */
  read(
    dma: Dma,
    object: number,
    address: number,
    lengthBytes: number,
    target: WordBlock,
    targetOffset: number,
  ): boolean {
    if (this.kind === MrKind.PHYSICAL)
      return dma.readBlock(object, this.#guestAddress(address), lengthBytes, target, targetOffset);
    const offset = address - this.#firstPageBase;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#pieceLength(offset + done, lengthBytes - done);
      if (!dma.readBlock(object, this.#translate(offset + done), piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  /** Copies into guest memory; arguments and result as for `read`. */
  write(
    dma: Dma,
    object: number,
    address: number,
    lengthBytes: number,
    source: WordBlock,
    sourceOffset: number,
  ): boolean {
    if (this.kind === MrKind.PHYSICAL)
      return dma.writeBlock(object, this.#guestAddress(address), source, sourceOffset, lengthBytes);
    const offset = address - this.#firstPageBase;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#pieceLength(offset + done, lengthBytes - done);
      if (!dma.writeBlock(object, this.#translate(offset + done), source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  /** Guest address of a virtual address in a region without pages. */
  #guestAddress(address: number): number {
    return this.access & AccessFlag.ZERO_BASED ? this.startAddress + address : address;
  }

  /** Number of the `remaining` bytes from `offset` on that lie in one page. */
  #pieceLength(offset: number, remaining: number): number {
    const pageBytes = 2 ** this.pageShift;
    return Math.min(remaining, pageBytes - (offset % pageBytes));
  }

  /** Guest address of the byte at `offset` from the start of the first page. */
  #translate(offset: number): number {
    const pageBytes = 2 ** this.pageShift;
    return this.pages[Math.floor(offset / pageBytes)] + (offset % pageBytes);
  }
}
