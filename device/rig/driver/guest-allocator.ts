// SPDX-License-Identifier: Apache-2.0
/**
 * Allocator of the driver's DMA memory: zeroed pieces, each followed by guard bytes, so that
 * `findOverrun` finds a device that writes too far. Memory is freed all at once; tests are short.
 */
import type { HardwareAccess } from './hardware-access.ts';

const GUARD_BYTE = 0x5c;
const GUARD_BYTES = 64;

/** Allocates bus addresses upwards. */
export class GuestAllocator {
  readonly #access: HardwareAccess;
  readonly #guards: number[] = [];
  #next: number;

  constructor(access: HardwareAccess) {
    this.#access = access;
    this.#next = access.memoryAddress;
  }

  /** Bus address of zeroed memory, a multiple of `alignBytes` (a power of two). */
  allocate(lengthBytes: number, alignBytes = 64): number {
    const address = Math.ceil(this.#next / alignBytes) * alignBytes;
    const end = this.#access.memoryAddress + this.#access.memoryBytes;
    if (address + lengthBytes + GUARD_BYTES > end) {
      throw new Error(`The driver has no ${lengthBytes} bytes of memory left (of ${this.#access.memoryBytes}).`);
    }
    fill(this.#access.view(address, lengthBytes), 0);
    fill(this.#access.view(address + lengthBytes, GUARD_BYTES), GUARD_BYTE);
    this.#guards.push(address + lengthBytes);
    this.#next = address + lengthBytes + GUARD_BYTES;
    return address;
  }

  /** Address of the first guard byte that changed; undefined if there is none. */
  findOverrun(): number | undefined {
    for (const guard of this.#guards) {
      const view = this.#access.view(guard, GUARD_BYTES);
      for (let index = 0; index < GUARD_BYTES; index++) {
        if (view.getUint8(index) !== GUARD_BYTE) return guard + index;
      }
    }
    return undefined;
  }

  /** Frees all memory. */
  reset(): void {
    this.#guards.length = 0;
    this.#next = this.#access.memoryAddress;
  }
}

function fill(view: DataView, byte: number): void {
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(byte);
}
