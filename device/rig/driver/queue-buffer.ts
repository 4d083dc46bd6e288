// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of one queue, contiguous or as a list of pages, and the addresses of its slots. Used
 * by the driver's send, receive, completion and event queues.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { GuestAllocator } from './guest-allocator.ts';
import type { HardwareAccess } from './hardware-access.ts';

const PAGE_ADDRESS_BYTES = 8;

/** Slots whose number and size are powers of two. */
export class DriverQueueBuffer {
  readonly entriesLog2: number;
  readonly strideLog2: number;
  readonly paged: boolean;
  /** Address for the device: of the slots, or of the list of pages. */
  readonly address: number;
  readonly #access: HardwareAccess;
  readonly #pages: readonly number[];

  private constructor(access: HardwareAccess, log2: readonly [number, number], address: number, pages: number[]) {
    this.#access = access;
    [this.entriesLog2, this.strideLog2] = log2;
    this.address = address;
    this.#pages = pages;
    this.paged = pages.length > 0;
  }

  static allocate(
    access: HardwareAccess,
    allocator: GuestAllocator,
    entriesLog2: number,
    strideLog2: number,
    paged: boolean,
  ): DriverQueueBuffer {
    const sizeBytes = 2 ** (entriesLog2 + strideLog2);
    if (!paged) {
      return new DriverQueueBuffer(access, [entriesLog2, strideLog2], allocator.allocate(sizeBytes, PAGE_BYTES), []);
    }
    const count = Math.ceil(sizeBytes / PAGE_BYTES);
    const pages = Array.from({ length: count }, () => allocator.allocate(PAGE_BYTES, PAGE_BYTES)).reverse();
    const list = allocator.allocate(count * PAGE_ADDRESS_BYTES);
    const view = access.view(list, count * PAGE_ADDRESS_BYTES);
    pages.forEach((page, index) => {
      view.setUint32(index * PAGE_ADDRESS_BYTES, lowDword(page), true);
      view.setUint32(index * PAGE_ADDRESS_BYTES + 4, highDword(page), true);
    });
    return new DriverQueueBuffer(access, [entriesLog2, strideLog2], list, pages);
  }

  get entries(): number {
    return 1 << this.entriesLog2;
  }

  get strideBytes(): number {
    return 1 << this.strideLog2;
  }

  /** Bus address of the slot of entry `number`. */
  slotAddress(number: number): number {
    const offset = (number & (this.entries - 1)) * this.strideBytes;
    if (!this.paged) return this.address + offset;
    return (this.#pages[Math.floor(offset / PAGE_BYTES)] as number) + (offset % PAGE_BYTES);
  }

  /** A live view of that slot. */
  slot(number: number): DataView {
    return this.#access.view(this.slotAddress(number), this.strideBytes);
  }
}
