// SPDX-License-Identifier: Apache-2.0
/**
 * Memory regions: what a key allows, and how its virtual addresses become guest addresses (IBTA 10.6). Every access of a work request to
 * guest memory goes through `check` and then `read` or `write`.
 */
import { makeKey } from '../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, MrKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { WordBlock } from '../host.ts';
import type { ProtectionDomain } from './protection-domain.ts';

export const ALL_ACCESS = Object.values(AccessFlag).reduce((all, flag) => all | flag, 0);
/** Remote rights that make no sense without the right to write locally (IBTA 10.6.3.1). */
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
  /** False of a FAST region that is not registered: it gives no access. */
  valid = true;
  /** Most pages of a FAST region. */
  maxPages = 0;
  /** Memory windows bound to it. */
  windows = 0;

  constructor(number: number, pd: ProtectionDomain) {
    this.number = number;
    this.owner = pd.owner;
    this.pd = pd;
  }

  /** L_Key, and R_Key where remote access is granted. */
  get key(): number {
    return makeKey(this.number, this.keyByte);
  }

  /** Virtual address of the first byte of the first page. A zero-based region counts from its own first byte, which `startAddress` places in the page (IBTA 10.6.2). */
  get #firstPageBase(): number {
    const inPage = this.startAddress % 2 ** this.pageShift;
    return this.access & AccessFlag.ZERO_BASED ? -inPage : this.startAddress - inPage;
  }

  /** Copies from guest memory. The range must have been checked. False when the bus refuses. */
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

  /** Copies into guest memory; see `read`. */
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

  /** Of a virtual address of a region without pages. */
  #guestAddress(address: number): number {
    return this.access & AccessFlag.ZERO_BASED ? this.startAddress + address : address;
  }

  /** Of `remaining` bytes from `offset` of the pages on, how many lie in one page. */
  #pieceLength(offset: number, remaining: number): number {
    const pageBytes = 2 ** this.pageShift;
    return Math.min(remaining, pageBytes - (offset % pageBytes));
  }

  #translate(offset: number): number {
    const pageBytes = 2 ** this.pageShift;
    return this.pages[Math.floor(offset / pageBytes)] + (offset % pageBytes);
  }
}
