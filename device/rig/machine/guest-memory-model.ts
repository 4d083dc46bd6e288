// SPDX-License-Identifier: Apache-2.0
/**
 * The guest memory of a test: contiguous RAM that software always reaches, and the rights of the
 * device for each page, as in an IOMMU. It starts above 4 GiB, so that a device that drops the
 * upper half of an address fails. New memory is filled with a poison byte. Used by `InProcessHost`.
 */
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { BusAddress } from '../../host.ts';
import { copyBytes } from '../../hosts/copy-bytes.ts';

/** Rights of the device for a page. */
export const PageAccess = { UNMAPPED: 0, READ_ONLY: 1, READ_WRITE: 2 } as const;
export type PageAccess = (typeof PageAccess)[keyof typeof PageAccess];

/** Value of bytes that were never written. */
export const POISON = 0xa5;

const DEFAULT_BASE = 0x12_3456_0000;
const WORD_BYTES = 4;

/** RAM of one guest. */
export class GuestMemoryModel {
  readonly base: number;
  readonly lengthBytes: number;
  readonly bytes: Uint8Array;
  /** The same memory as words. */
  readonly #words: Int32Array;
  readonly #pages: Uint8Array;

  /**
   * Sizes and addresses are multiples of a page. All pages are first mapped for reading and
   * writing. `bytes`: storage of that size to use.
   */
  constructor(lengthBytes: number, base = DEFAULT_BASE, bytes: Uint8Array = new Uint8Array(lengthBytes)) {
    if (lengthBytes % PAGE_BYTES !== 0 || base % PAGE_BYTES !== 0) {
      throw new Error(`GuestMemoryModel: ${lengthBytes} bytes at ${base}: both must be multiples of ${PAGE_BYTES}.`);
    }
    this.base = base;
    this.lengthBytes = lengthBytes;
    this.bytes = bytes.fill(POISON);
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, lengthBytes / WORD_BYTES);
    this.#pages = new Uint8Array(lengthBytes / PAGE_BYTES).fill(PageAccess.READ_WRITE);
  }

  /** A live view for software, whatever the rights of the device. Throws if out of range. */
  view(address: number, lengthBytes: number): DataView {
    const offset = address - this.base;
    if (!(offset >= 0) || offset + lengthBytes > this.lengthBytes) {
      throw new Error(`There is no guest memory at 0x${address.toString(16)}, ${lengthBytes} bytes.`);
    }
    return new DataView(this.bytes.buffer, offset, lengthBytes);
  }

  /** Sets the rights of the device for every page that the range touches. */
  protect(address: number, lengthBytes: number, access: PageAccess): void {
    const first = Math.floor((address - this.base) / PAGE_BYTES);
    const end = Math.ceil((address - this.base + lengthBytes) / PAGE_BYTES);
    this.#pages.fill(access, first, end);
  }

  /** True if the device may access the whole range. */
  allows(at: BusAddress, lengthBytes: number, needed: PageAccess): boolean {
    const offset = at.value - this.base;
    if (!(offset >= 0) || offset + lengthBytes > this.lengthBytes) return false;
    const last = Math.floor((offset + Math.max(lengthBytes, 1) - 1) / PAGE_BYTES);
    for (let page = Math.floor(offset / PAGE_BYTES); page <= last; page++) {
      if ((this.#pages[page] ?? PageAccess.UNMAPPED) < needed) return false;
    }
    return true;
  }

  /** A read by the device; false if it may not. */
  read(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    if (!this.allows(at, lengthBytes, PageAccess.READ_ONLY)) return false;
    copyBytes(target, targetOffset, this.bytes, at.value - this.base, lengthBytes);
    return true;
  }

  /** A write by the device; false, with nothing written, if it may not. */
  write(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.allows(at, lengthBytes, PageAccess.READ_WRITE)) return false;
    copyBytes(this.bytes, at.value - this.base, source, sourceOffset, lengthBytes);
    return true;
  }

  /** As `read`, word by word: address, length and offset are multiples of 4. */
  readWords(at: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    if (!this.allows(at, lengthBytes, PageAccess.READ_ONLY)) return false;
    copyWords(target, targetOffset / WORD_BYTES, this.#words, (at.value - this.base) / WORD_BYTES, lengthBytes);
    return true;
  }

  /** As `write`, word by word; see `readWords`. */
  writeWords(at: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.allows(at, lengthBytes, PageAccess.READ_WRITE)) return false;
    copyWords(this.#words, (at.value - this.base) / WORD_BYTES, source, sourceOffset / WORD_BYTES, lengthBytes);
    return true;
  }
}

function copyWords(target: Int32Array, to: number, source: Int32Array, from: number, lengthBytes: number): void {
  const count = lengthBytes / WORD_BYTES;
  for (let index = 0; index < count; index++) target[to + index] = source[from + index];
}
