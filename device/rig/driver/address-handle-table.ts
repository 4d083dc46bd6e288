// SPDX-License-Identifier: Apache-2.0
/**
 * The address handle table of a function: 64-byte address vectors in guest memory, which the device
 * reads for each datagram (docs/PROGRAMMING.md). Part of `Driver`.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import {
  ADDRESS_HANDLE_SIZE,
  type AddressHandle,
  copyAddressHandleDestinationGidFrom,
  encodeAddressHandle,
  newAddressHandle,
} from '../../../protocol/layout/gen/address-handle.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { highOfPort } from '../../../protocol/layout/port-number.ts';
import type { GuestAllocator } from './guest-allocator.ts';
import type { HardwareAccess } from './hardware-access.ts';

/** Table of address vectors. */
export class AddressHandleTable {
  readonly address: number;
  readonly entries: number;
  readonly #access: HardwareAccess;
  #next = 0;

  /** Allocates the table and writes its address to the device. */
  constructor(access: HardwareAccess, allocator: GuestAllocator, entries: number) {
    this.#access = access;
    this.entries = entries;
    this.address = allocator.allocate(entries * ADDRESS_HANDLE_SIZE);
    access.writeRegister(CSR.ADDRESS_HANDLE_TABLE, 8, lowDword(this.address), highDword(this.address));
    access.writeRegister(CSR.ADDRESS_HANDLE_COUNT, 4, entries, 0);
  }

  /** Writes the next free entry, valid unless `vector` differs, and returns its index. */
  add(vector: Partial<AddressHandle>, destinationGid?: Uint8Array): number {
    if (this.#next >= this.entries) throw new Error(`The address handle table is full (${this.entries} entries).`);
    const index = this.#next++;
    this.set(index, vector, destinationGid);
    return index;
  }

  /** Makes the entries from `index` on free again. */
  rewind(index = 0): void {
    this.#next = index;
  }

  /** Overwrites an entry. */
  set(index: number, vector: Partial<AddressHandle>, destinationGid?: Uint8Array): void {
    const view = this.#access.view(this.address + index * ADDRESS_HANDLE_SIZE, ADDRESS_HANDLE_SIZE);
    const { port = 1 } = vector;
    encodeAddressHandle(view, 0, { ...newAddressHandle(), valid: 1, port, portHigh: highOfPort(port), ...vector });
    if (destinationGid) copyAddressHandleDestinationGidFrom(view, 0, destinationGid, 0);
  }
}
