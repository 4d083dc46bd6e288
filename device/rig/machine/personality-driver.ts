// SPDX-License-Identifier: Apache-2.0
/**
 * The common part of test drivers of all personalities: the function, an allocator of its memory,
 * and registers, which those devices keep most significant byte first. The drivers of
 * `device/rig/mthca` and `device/rig/mlx5` extend it.
 */
import { swapBytes } from '../../../protocol/layout/dwords.ts';
import type { FunctionPort } from '../../host.ts';
import type { GuestMemoryModel } from './guest-memory-model.ts';
import type { InProcessMachine } from './machine.ts';

const PAGE_BYTES = 4096;
/** Guest memory that suffices for most tests: filling it is most of the cost of a machine. */
export const SMALL_MEMORY_BYTES = 2 ** 20;

/** A piece of registered memory. */
export interface Piece {
  readonly key: number;
  readonly address: number;
  readonly byteCount: number;
}

/** A send request without its destination; fields that its opcode does not need are left out. */
export interface RequestWork {
  readonly opcode: number;
  readonly pieces?: readonly Piece[];
  readonly inline?: Uint8Array;
  readonly remote?: Pick<Piece, 'address' | 'key'>;
  readonly atomic?: readonly [swapOrAdd: number, compare: number];
}

export class PersonalityDriver {
  readonly machine: InProcessMachine;
  /** The function of the device. */
  readonly port: FunctionPort;
  readonly memory: GuestMemoryModel;
  #free: number;

  /** `index`: that of the device's function among those of the machine. */
  constructor(machine: InProcessMachine, index: number) {
    this.machine = machine;
    this.port = machine.functionAt(index);
    this.memory = machine.hostAt(index).memory;
    this.#free = this.memory.base;
  }

  /** Guest address of zeroed memory. */
  allocate(lengthBytes: number, alignBytes = PAGE_BYTES): number {
    const address = Math.ceil(this.#free / alignBytes) * alignBytes;
    this.#free = address + lengthBytes;
    this.bytes(address, lengthBytes).fill(0);
    return address;
  }

  bytes(address: number, lengthBytes: number): Uint8Array {
    const { buffer, byteOffset } = this.memory.view(address, lengthBytes);
    return new Uint8Array(buffer, byteOffset, lengthBytes);
  }

  /** Stores a dword of the register BAR. */
  writeRegister(offset: number, value: number): void {
    this.port.writeRegister(offset, 4, swapBytes(value), 0);
  }

  readRegister(offset: number): number {
    return swapBytes(this.port.readRegister(offset, 4));
  }
}
