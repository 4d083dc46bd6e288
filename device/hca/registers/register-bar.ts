// SPDX-License-Identifier: Apache-2.0
/**
 * The register BAR of one function: its registers, the pending bit array of MSI-X, and its device
 * memory. `PcieFunction` passes accesses on, except doorbells that the bus holds up.
 */
import { DEVICE_MEMORY_OFFSET, MSIX_PBA_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR_SIZE } from '../../../protocol/layout/gen/registers.gen.ts';
import type { DeviceMemory } from '../function/device-memory.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { RegisterFile } from './register-file.ts';

export class RegisterBar {
  readonly #registers: RegisterFile;
  readonly #deviceMemory: DeviceMemory;
  readonly #pending: Uint32Array;

  constructor(registers: RegisterFile, { deviceMemory, msix }: UnderlyingFunction) {
    this.#registers = registers;
    this.#deviceMemory = deviceMemory;
    this.#pending = msix.pending;
  }

  /** Returns the low dword; the high one of an access of 8 bytes is in `RegisterFile.high`. */
  read(offset: number, sizeBytes: number): number {
    if (offset < CSR_SIZE) return this.#registers.read(offset, sizeBytes);
    if (offset >= DEVICE_MEMORY_OFFSET) return this.#load(offset - DEVICE_MEMORY_OFFSET, sizeBytes);
    return this.#readPending(offset - MSIX_PBA_OFFSET, sizeBytes);
  }

  /** The MSI-X table belongs to the host: writes there never come, and are dropped if they do. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    if (offset < CSR_SIZE) this.#registers.write(offset, sizeBytes, low >>> 0, high >>> 0);
    else if (offset < DEVICE_MEMORY_OFFSET) this.#registers.refuse(offset, sizeBytes, low, high);
    else this.#deviceMemory.store(offset - DEVICE_MEMORY_OFFSET, sizeBytes, low | 0, high | 0);
  }

  #load(offset: number, sizeBytes: number): number {
    const low = this.#deviceMemory.load(offset, sizeBytes);
    this.#registers.high = this.#deviceMemory.high;
    return low;
  }

  /** Places without a word of the array, and parts of words, read as 0. */
  #readPending(offset: number, sizeBytes: number): number {
    const word = offset / 4;
    const isWord = sizeBytes >= 4 && word >= 0 && word < this.#pending.length && Number.isInteger(word);
    this.#registers.high = isWord && sizeBytes === 8 ? (this.#pending[word + 1] ?? 0) : 0;
    return isWord ? this.#pending[word] : 0;
  }
}
