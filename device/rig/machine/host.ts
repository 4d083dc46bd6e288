// SPDX-License-Identifier: Apache-2.0
/**
 * The host of one function in tests (`HostPort` of device/host.ts): modelled guest memory and
 * MSI-X, a log of all accesses, and checks of rules for every adapter: no write after a reset, no
 * vector out of range, no invalid range. Built by `InProcessMachine`.
 */
import { VECTOR_COUNT } from '../../../protocol/layout/gen/constants.gen.ts';
import { AddressRegister } from '../../hca/function/address-register.ts';
import type { BusAddress } from '../../host.ts';
import type { OrderableHost } from '../../hosts/ordering/ordering-model.ts';
import { AccessKind, AccessLog } from './access-log.ts';
import { type GuestMemoryModel, PageAccess } from './guest-memory-model.ts';

const DWORD_BYTES = 4;

/** Modelled host of one function. */
export class InProcessHost implements OrderableHost {
  readonly memory: GuestMemoryModel;
  readonly log = new AccessLog();
  /** Interrupts delivered per vector. */
  readonly raised = new Uint32Array(VECTOR_COUNT);
  /** Interrupts requested and not delivered, per vector. */
  readonly refused = new Uint32Array(VECTOR_COUNT);
  readonly masked = new Uint8Array(VECTOR_COUNT);
  msixEnabled = true;
  /** Packets may refer to memory of this guest instead of copies, as in a live process. */
  lends = false;
  /** Pieces of memory that were written to a guest without an intermediate copy. */
  loans = 0;
  /** Violations of the rules; the machine stops at the first. */
  readonly violations: string[] = [];
  /** Reason why no store and no interrupt is allowed now; empty if they are. */
  quietBecause = '';
  /** Called between the body and the validity word of a publication. */
  onBody: (address: number, lengthBytes: number) => void = () => {};
  /** Called for each interrupt delivered. */
  onVector: (vector: number) => void = () => {};
  /** Address of the validity word of a publication. */
  readonly #validity = new AddressRegister();

  constructor(memory: GuestMemoryModel) {
    this.memory = memory;
  }

  readMemory(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    this.#checkRange('readMemory', at, lengthBytes, target.length, targetOffset);
    const read = this.memory.read(at, lengthBytes, target, targetOffset);
    this.log.record(read ? AccessKind.READ : AccessKind.DENIED_READ, at, lengthBytes);
    return read;
  }

  isInPlace(at: BusAddress, lengthBytes: number): boolean {
    return this.lends && this.memory.allows(at, lengthBytes, PageAccess.READ_ONLY);
  }

  viewMemory(at: BusAddress, lengthBytes: number): Uint8Array | undefined {
    if (!this.isInPlace(at, lengthBytes)) return undefined;
    const start = at.value - this.memory.base;
    this.loans++;
    return this.memory.bytes.subarray(start, start + lengthBytes);
  }

  isWritable(at: BusAddress, lengthBytes: number): boolean {
    const writable = this.memory.allows(at, lengthBytes, PageAccess.READ_WRITE);
    if (!writable) this.log.record(AccessKind.DENIED_WRITE, at, lengthBytes);
    return writable;
  }

  writeMemory(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    this.#checkRange('writeMemory', at, lengthBytes, source.length, sourceOffset);
    if (this.quietBecause !== '') this.#complain('writeMemory', at.value);
    const written = this.memory.write(at, source, sourceOffset, lengthBytes);
    this.log.record(written ? AccessKind.WRITE : AccessKind.DENIED_WRITE, at, lengthBytes);
    return written;
  }

  /** Word copies of the fast path; a recorder or ordering model in between uses the byte copies. */
  readWords(at: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    this.#checkRange('readWords', at, lengthBytes, target.byteLength, targetOffset);
    const read = this.memory.readWords(at, lengthBytes, target, targetOffset);
    this.log.record(read ? AccessKind.READ : AccessKind.DENIED_READ, at, lengthBytes);
    return read;
  }

  writeWords(at: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    this.#checkRange('writeWords', at, lengthBytes, source.byteLength, sourceOffset);
    if (this.quietBecause !== '') this.#complain('writeWords', at.value);
    const written = this.memory.writeWords(at, source, sourceOffset, lengthBytes);
    this.log.record(written ? AccessKind.WRITE : AccessKind.DENIED_WRITE, at, lengthBytes);
    return written;
  }

  publish(at: BusAddress, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean {
    this.#checkRange('publish', at, lengthBytes, entry.length, entryOffset);
    if (this.quietBecause !== '') this.#complain('publish', at.value);
    const bodyBytes = lengthBytes - validBytes;
    const validity = this.#validity;
    validity.value = at.value + bodyBytes;
    if (!isStoreSize(validBytes) || bodyBytes < 0 || validity.value % validBytes !== 0)
      this.violations.push(`publish: a validity word of ${validBytes} bytes at 0x${validity.value.toString(16)}`);
    if (!this.isWritable(at, lengthBytes)) return false;
    this.memory.write(at, entry, entryOffset, bodyBytes);
    this.log.record(AccessKind.BODY, at, bodyBytes);
    this.onBody(at.value, bodyBytes);
    this.memory.write(validity, entry, entryOffset + bodyBytes, validBytes);
    this.log.record(AccessKind.VALIDITY, validity, validBytes);
    return true;
  }

  compareAndSwap(at: BusAddress, expected: number, desired: number): number | undefined {
    if (at.value % DWORD_BYTES !== 0) this.violations.push(`compareAndSwap at 0x${at.value.toString(16)}: unaligned`);
    if (this.quietBecause !== '') this.#complain('compareAndSwap', at.value);
    if (!this.memory.allows(at, DWORD_BYTES, PageAccess.READ_WRITE)) {
      this.log.record(AccessKind.DENIED_WRITE, at, DWORD_BYTES);
      return undefined;
    }
    const view = this.memory.view(at.value, DWORD_BYTES);
    const found = view.getInt32(0, true);
    if (found === (expected | 0)) view.setInt32(0, desired, true);
    this.log.record(AccessKind.SWAP, at, DWORD_BYTES);
    return found;
  }

  raiseVector(vector: number): boolean {
    if (!Number.isInteger(vector) || vector < 0 || vector >= VECTOR_COUNT) {
      this.violations.push(`raiseVector(${vector}): there are ${VECTOR_COUNT} vectors`);
      return false;
    }
    if (this.quietBecause !== '') this.#complain('raiseVector', vector);
    if (!this.msixEnabled || this.masked[vector] !== 0) {
      this.refused[vector] = (this.refused[vector] ?? 0) + 1;
      this.log.recordVector(AccessKind.DENIED_VECTOR, vector);
      return false;
    }
    this.raised[vector] = (this.raised[vector] ?? 0) + 1;
    this.log.recordVector(AccessKind.VECTOR, vector);
    this.onVector(vector);
    return true;
  }

  #complain(call: string, address: number): void {
    this.violations.push(`${call} at 0x${address.toString(16)} although ${this.quietBecause}`);
  }

  #checkRange(call: string, at: BusAddress, lengthBytes: number, roomBytes: number, offset: number): void {
    const address = at.value;
    const sound =
      Number.isSafeInteger(address) &&
      address >= 0 &&
      Number.isInteger(lengthBytes) &&
      lengthBytes >= 0 &&
      Number.isInteger(offset) &&
      offset >= 0 &&
      offset + lengthBytes <= roomBytes;
    if (!sound) this.violations.push(`${call}: ${lengthBytes} bytes at ${address}, offset ${offset} of ${roomBytes}`);
  }
}

function isStoreSize(sizeBytes: number): boolean {
  return sizeBytes === 1 || sizeBytes === 2 || sizeBytes === 4 || sizeBytes === 8;
}
