// SPDX-License-Identifier: Apache-2.0
/**
 * Bus mastering of one function: the only way of its units to guest memory. Refuses every transfer
 * while bus mastering is off, and reports each refusal as a fault with the object and the address
 * (docs/DOCUMENTS.md decision 15).
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { HostPort, MemoryLender, WordBlock } from '../../host.ts';
import type { LoanBook } from '../../loan-book.ts';
import { AddressRegister } from './address-register.ts';
import type { FaultLog, FaultSubject } from './fault-log.ts';

const DWORD_BYTES = 4;
/** Longest store that a reader finds as a whole or not at all. */
export const STORE_BYTES = 8;
const NO_BYTES = new Uint8Array(0);
/** Longest transfer that moves by words: commands, short payloads. */
const WORDS_MAX_BYTES = 128;

export class Dma implements MemoryLender {
  /** Bytes moved since power-on. */
  bytesRead = 0;
  bytesWritten = 0;
  readonly loans: LoanBook;
  readonly #host: HostPort;
  readonly #faults: FaultLog;
  readonly #at = new AddressRegister();
  /** True when the host implements `readWords` and `writeWords`. */
  readonly #takesWords: boolean;
  #busMaster = false;

  constructor(host: HostPort, faults: FaultLog, loans: LoanBook) {
    this.loans = loans;
    this.#host = host;
    this.#faults = faults;
    this.#takesWords = host.readWords !== undefined && host.writeWords !== undefined;
  }

  get busMaster(): boolean {
    return this.#busMaster;
  }

  setBusMaster(on: boolean): void {
    this.loans.end();
    this.#busMaster = on;
  }

  /** Guest address of the next transfer, or of the last one. */
  get address(): number {
    return this.#at.value;
  }

  /**
   * Sets the guest address of the next transfer: `dma.at(address).read(...)`. V8 always inlines a
   * method of this size, and the transfers only sometimes; see `AddressRegister`.
   */
  at(address: number): this {
    this.#at.value = address;
    return this;
  }

  /**
   * Copies guest memory into `target`. `subject` is the object that the transfer belongs to,
   * for the fault record. Returns false after a fault.
   */
  read(subject: FaultSubject, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, subject);
    if (!this.#isExact(lengthBytes) || !this.#host.readMemory(this.#at, lengthBytes, target, targetOffset))
      return this.#refuse(FaultKind.DMA_READ, subject);
    this.bytesRead += lengthBytes;
    return true;
  }

  /**
   * As `read`, for a look that is no transfer of the device: it counts nothing, and what cannot be
   * read is no fault.
   */
  peek(lengthBytes: number, target: Uint8Array): boolean {
    return this.#busMaster && this.#isExact(lengthBytes) && this.#host.readMemory(this.#at, lengthBytes, target, 0);
  }

  /** Copies into guest memory; arguments and result as for `read`. */
  write(subject: FaultSubject, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, subject);
    if (!this.#isExact(lengthBytes) || !this.#host.writeMemory(this.#at, source, sourceOffset, lengthBytes))
      return this.#refuse(FaultKind.DMA_WRITE, subject);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** As `read`. Short aligned pieces move by words if the host supports it. */
  readBlock(subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    const { bytes, words } = target;
    if (!this.#byWords(lengthBytes, targetOffset)) {
      if (target.loanBytes === lengthBytes && this.#lend(lengthBytes, target, targetOffset)) return true;
      return this.read(subject, lengthBytes, bytes, targetOffset);
    }
    if (!this.#isExact(lengthBytes) || !this.#host.readWords?.(this.#at, lengthBytes, words, targetOffset))
      return this.#refuse(FaultKind.DMA_READ, subject);
    this.bytesRead += lengthBytes;
    return true;
  }

  copyLoan(address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): void {
    const isRead = this.#host.readMemory(this.at(address).#at, lengthBytes, target, targetOffset);
    if (!isRead) target.fill(0, targetOffset, targetOffset + lengthBytes);
  }

  viewLoan(address: number, lengthBytes: number): Uint8Array | undefined {
    return this.#host.viewMemory?.(this.at(address).#at, lengthBytes);
  }

  /** As `write`, by words like `readBlock`. */
  writeBlock(subject: FaultSubject, source: WordBlock, sourceOffset: number, lengthBytes: number): boolean {
    const { bytes, words } = source;
    if (!this.#byWords(lengthBytes, sourceOffset) || words.length === 0)
      return this.write(subject, bytes, sourceOffset, lengthBytes);
    if (!this.#isExact(lengthBytes) || !this.#host.writeWords?.(this.#at, words, sourceOffset, lengthBytes))
      return this.#refuse(FaultKind.DMA_WRITE, subject);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** See `HostPort.publish`. */
  publish(subject: FaultSubject, entry: Uint8Array, lengthBytes: number, validBytes: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, subject);
    if (!this.#isExact(lengthBytes) || !this.#host.publish(this.#at, entry, 0, lengthBytes, validBytes))
      return this.#refuse(FaultKind.DMA_WRITE, subject);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** As `publish` with a validity word of 4 bytes, by words like `readBlock`. */
  publishBlock(subject: FaultSubject, entry: WordBlock, lengthBytes: number): boolean {
    const { bytes, words } = entry;
    if (this.#host.publishWords === undefined || !this.#byWords(lengthBytes, 0))
      return this.publish(subject, bytes, lengthBytes, DWORD_BYTES);
    if (!this.#isExact(lengthBytes) || !this.#host.publishWords(this.#at, words, lengthBytes))
      return this.#refuse(FaultKind.DMA_WRITE, subject);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** Writes the 8 bytes of `source`, in one store if the address is a multiple of 8. */
  store(subject: FaultSubject, source: WordBlock): boolean {
    if (this.#at.value % STORE_BYTES !== 0) return this.writeBlock(subject, source, 0, STORE_BYTES);
    return this.publish(subject, source.bytes, STORE_BYTES, STORE_BYTES);
  }

  /** Reads zero bytes: all earlier writes of the function are in memory when it returns. */
  flush(subject: FaultSubject): boolean {
    return this.read(subject, 0, NO_BYTES, 0);
  }

  /** See `HostPort.compareAndSwap`. */
  compareAndSwap(subject: FaultSubject, expected: number, desired: number): number | undefined {
    const found =
      this.#busMaster && this.#isExact(DWORD_BYTES)
        ? this.#host.compareAndSwap(this.#at, expected, desired)
        : undefined;
    if (found === undefined) {
      this.#refuse(this.#busMaster ? FaultKind.DMA_WRITE : FaultKind.BUS_MASTER_OFF, subject);
      return undefined;
    }
    this.bytesRead += DWORD_BYTES;
    if (found === (expected | 0)) this.bytesWritten += DWORD_BYTES;
    return found;
  }

  /** Lends the bytes of a read instead of copying them, if the host has them in place. */
  #lend(lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    if (!this.#busMaster || !this.#isExact(lengthBytes)) return false;
    if (lengthBytes === 0 || this.#host.isInPlace?.(this.#at, lengthBytes) !== true) return false;
    target.borrow?.(this, this.#at.value, targetOffset, lengthBytes);
    this.bytesRead += lengthBytes;
    return true;
  }

  #byWords(lengthBytes: number, offset: number): boolean {
    const isAligned = ((this.#at.value | lengthBytes | offset) & (DWORD_BYTES - 1)) === 0;
    return isAligned && lengthBytes <= WORDS_MAX_BYTES && this.#takesWords && this.#busMaster;
  }

  /**
   * Addresses are exact Numbers: what lies beyond 2^53 cannot be told from its neighbours, and no
   * guest has memory there.
   */
  #isExact(lengthBytes: number): boolean {
    return this.#at.value + lengthBytes <= Number.MAX_SAFE_INTEGER;
  }

  #refuse(kind: FaultKind, subject: FaultSubject): boolean {
    this.#faults.report(kind, subject, this.#at.value);
    return false;
  }
}
