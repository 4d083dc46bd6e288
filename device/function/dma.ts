// SPDX-License-Identifier: Apache-2.0
/**
 * Bus mastering of one function: the only way of its units to guest memory. Refuses every transfer
 * while bus mastering is off, and reports each refusal as a fault with the object and the address
 * (docs/DOCUMENTS.md decision 15).
 */
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { HostPort, WordBlock } from '../host.ts';
import type { FaultLog } from './fault-log.ts';

const DWORD_BYTES = 4;
/** Longest transfer that moves by words: commands, short payloads. */
const WORDS_MAX_BYTES = 128;

export class Dma {
  /** Bytes moved since power-on. */
  bytesRead = 0;
  bytesWritten = 0;
  readonly #host: HostPort;
  readonly #faults: FaultLog;
  /** True when the host implements `readWords` and `writeWords`. */
  readonly #takesWords: boolean;
  #busMaster = false;

  constructor(host: HostPort, faults: FaultLog) {
    this.#host = host;
    this.#faults = faults;
    this.#takesWords = host.readWords !== undefined && host.writeWords !== undefined;
  }

  get busMaster(): boolean {
    return this.#busMaster;
  }

  setBusMaster(on: boolean): void {
    this.#busMaster = on;
  }

  /**
   * Copies guest memory into `target`. `object` is the number of the object that the transfer
   * belongs to, for the fault record. Returns false after a fault.
   */
  read(object: number, address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, object, address);
    if (!isExact(address, lengthBytes) || !this.#host.readMemory(address, lengthBytes, target, targetOffset))
      return this.#refuse(FaultKind.DMA_READ, object, address);
    this.bytesRead += lengthBytes;
    return true;
  }

  /** Copies into guest memory; arguments and result as for `read`. */
  write(object: number, address: number, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, object, address);
    if (!isExact(address, lengthBytes) || !this.#host.writeMemory(address, source, sourceOffset, lengthBytes))
      return this.#refuse(FaultKind.DMA_WRITE, object, address);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** As `read`. Short aligned pieces move by words if the host supports it. */
  readBlock(object: number, address: number, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    const { bytes, words } = target;
    if (!this.#byWords(address, lengthBytes, targetOffset))
      return this.read(object, address, lengthBytes, bytes, targetOffset);
    if (!isExact(address, lengthBytes) || !this.#host.readWords?.(address, lengthBytes, words, targetOffset))
      return this.#refuse(FaultKind.DMA_READ, object, address);
    this.bytesRead += lengthBytes;
    return true;
  }

  /** As `write`, by words like `readBlock`. */
  writeBlock(object: number, address: number, source: WordBlock, sourceOffset: number, lengthBytes: number): boolean {
    const { bytes, words } = source;
    if (!this.#byWords(address, lengthBytes, sourceOffset))
      return this.write(object, address, bytes, sourceOffset, lengthBytes);
    if (!isExact(address, lengthBytes) || !this.#host.writeWords?.(address, words, sourceOffset, lengthBytes))
      return this.#refuse(FaultKind.DMA_WRITE, object, address);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** See `HostPort.publish`. */
  publish(object: number, address: number, entry: Uint8Array, lengthBytes: number, validBytes: number): boolean {
    if (!this.#busMaster) return this.#refuse(FaultKind.BUS_MASTER_OFF, object, address);
    if (!isExact(address, lengthBytes) || !this.#host.publish(address, entry, 0, lengthBytes, validBytes))
      return this.#refuse(FaultKind.DMA_WRITE, object, address);
    this.bytesWritten += lengthBytes;
    return true;
  }

  /** See `HostPort.compareAndSwap`. */
  compareAndSwap(object: number, address: number, expected: number, desired: number): number | undefined {
    const found =
      this.#busMaster && isExact(address, DWORD_BYTES)
        ? this.#host.compareAndSwap(address, expected, desired)
        : undefined;
    if (found === undefined) {
      this.#refuse(this.#busMaster ? FaultKind.DMA_WRITE : FaultKind.BUS_MASTER_OFF, object, address);
      return undefined;
    }
    this.bytesRead += DWORD_BYTES;
    if (found === (expected | 0)) this.bytesWritten += DWORD_BYTES;
    return found;
  }

  #byWords(address: number, lengthBytes: number, offset: number): boolean {
    const isAligned = ((address | lengthBytes | offset) & (DWORD_BYTES - 1)) === 0;
    return isAligned && lengthBytes <= WORDS_MAX_BYTES && this.#takesWords && this.#busMaster;
  }

  #refuse(kind: FaultKind, object: number, address: number): boolean {
    this.#faults.report(kind, object, address);
    return false;
  }
}

/**
 * Addresses are exact Numbers. Those beyond 2^53 cannot be distinguished from their neighbours, and
 * no guest has memory there.
 */
function isExact(address: number, lengthBytes: number): boolean {
  return address + lengthBytes <= Number.MAX_SAFE_INTEGER;
}
