// SPDX-License-Identifier: Apache-2.0
/**
 * The host of one function in tests (`HostPort` of device/host.ts): modelled guest memory and
 * MSI-X, a log of all accesses, and checks of rules for every adapter: no write after a reset, no
 * vector out of range, no invalid range. Built by `InProcessMachine`.
 */
import { VECTOR_COUNT } from '../../../protocol/layout/gen/constants.gen.ts';
import type { OrderableHost } from '../ordering/ordering-model.ts';
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
  /** Violations of the rules; the machine stops at the first. */
  readonly violations: string[] = [];
  /** Reason why no store and no interrupt is allowed now; empty if they are. */
  quietBecause = '';
  /** Called between the body and the validity word of a publication. */
  onBody: (address: number, lengthBytes: number) => void = () => {};
  /** Called for each interrupt delivered. */
  onVector: (vector: number) => void = () => {};

  constructor(memory: GuestMemoryModel) {
    this.memory = memory;
  }

  readMemory(address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    this.#checkRange('readMemory', address, lengthBytes, target.length, targetOffset);
    const read = this.memory.read(address, lengthBytes, target, targetOffset);
    this.log.record(read ? AccessKind.READ : AccessKind.DENIED_READ, address, lengthBytes);
    return read;
  }

  isWritable(address: number, lengthBytes: number): boolean {
    const writable = this.memory.allows(address, lengthBytes, PageAccess.READ_WRITE);
    if (!writable) this.log.record(AccessKind.DENIED_WRITE, address, lengthBytes);
    return writable;
  }

  writeMemory(address: number, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    this.#checkRange('writeMemory', address, lengthBytes, source.length, sourceOffset);
    this.#checkQuiet('writeMemory', address);
    const written = this.memory.write(address, source, sourceOffset, lengthBytes);
    this.log.record(written ? AccessKind.WRITE : AccessKind.DENIED_WRITE, address, lengthBytes);
    return written;
  }

  /** Word copies of the fast path; a recorder or ordering model in between uses the byte copies. */
  readWords(address: number, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    this.#checkRange('readWords', address, lengthBytes, target.byteLength, targetOffset);
    const read = this.memory.readWords(address, lengthBytes, target, targetOffset);
    this.log.record(read ? AccessKind.READ : AccessKind.DENIED_READ, address, lengthBytes);
    return read;
  }

  writeWords(address: number, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    this.#checkRange('writeWords', address, lengthBytes, source.byteLength, sourceOffset);
    this.#checkQuiet('writeWords', address);
    const written = this.memory.writeWords(address, source, sourceOffset, lengthBytes);
    this.log.record(written ? AccessKind.WRITE : AccessKind.DENIED_WRITE, address, lengthBytes);
    return written;
  }

  publish(address: number, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean {
    this.#checkRange('publish', address, lengthBytes, entry.length, entryOffset);
    this.#checkQuiet('publish', address);
    const bodyBytes = lengthBytes - validBytes;
    if (!isStoreSize(validBytes) || bodyBytes < 0 || (address + bodyBytes) % validBytes !== 0) {
      this.violations.push(
        `publish: a validity word of ${validBytes} bytes at 0x${(address + bodyBytes).toString(16)}`,
      );
    }
    if (!this.isWritable(address, lengthBytes)) return false;
    this.memory.write(address, entry, entryOffset, bodyBytes);
    this.log.record(AccessKind.BODY, address, bodyBytes);
    this.onBody(address, bodyBytes);
    this.memory.write(address + bodyBytes, entry, entryOffset + bodyBytes, validBytes);
    this.log.record(AccessKind.VALIDITY, address + bodyBytes, validBytes);
    return true;
  }

  compareAndSwap(address: number, expected: number, desired: number): number | undefined {
    if (address % DWORD_BYTES !== 0) this.violations.push(`compareAndSwap at 0x${address.toString(16)}: unaligned`);
    this.#checkQuiet('compareAndSwap', address);
    if (!this.memory.allows(address, DWORD_BYTES, PageAccess.READ_WRITE)) {
      this.log.record(AccessKind.DENIED_WRITE, address, DWORD_BYTES);
      return undefined;
    }
    const view = this.memory.view(address, DWORD_BYTES);
    const found = view.getInt32(0, true);
    if (found === (expected | 0)) view.setInt32(0, desired, true);
    this.log.record(AccessKind.SWAP, address, DWORD_BYTES);
    return found;
  }

  raiseVector(vector: number): boolean {
    if (!Number.isInteger(vector) || vector < 0 || vector >= VECTOR_COUNT) {
      this.violations.push(`raiseVector(${vector}): there are ${VECTOR_COUNT} vectors`);
      return false;
    }
    this.#checkQuiet('raiseVector', vector);
    if (!this.msixEnabled || this.masked[vector] !== 0) {
      this.refused[vector] = (this.refused[vector] ?? 0) + 1;
      this.log.record(AccessKind.DENIED_VECTOR, vector, 0);
      return false;
    }
    this.raised[vector] = (this.raised[vector] ?? 0) + 1;
    this.log.record(AccessKind.VECTOR, vector, 0);
    this.onVector(vector);
    return true;
  }

  #checkQuiet(call: string, address: number): void {
    if (this.quietBecause === '') return;
    this.violations.push(`${call} at 0x${address.toString(16)} although ${this.quietBecause}`);
  }

  #checkRange(call: string, address: number, lengthBytes: number, roomBytes: number, offset: number): void {
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
