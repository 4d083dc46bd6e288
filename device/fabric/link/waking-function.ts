// SPDX-License-Identifier: Apache-2.0
/**
 * A function of a node as hosts of a fabric call it. Each call says that the node has work, so that
 * the fabric runs this node before the others. It also ends loans of payload, because the guest or
 * its host may use the memory for something else afterwards; only stores to collect pages and send
 * contexts do not, which do nothing but add work.
 */
import type { FunctionPort, ResetKind, ResourceAnswer } from '../../host.ts';
import type { LoanBook } from '../../loan-book.ts';

export class WakingFunction implements FunctionPort {
  readonly #port: FunctionPort;
  readonly #wake: () => void;
  readonly #loans: LoanBook | undefined;

  constructor(port: FunctionPort, wake: () => void, loans: LoanBook | undefined) {
    this.#port = port;
    this.#wake = wake;
    this.#loans = loans;
  }

  get readHigh(): number {
    return this.#port.readHigh;
  }

  get takesAccess(): boolean {
    return this.#port.takesAccess;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.#begin();
    return this.#port.readRegister(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#begin();
    this.#port.writeRegister(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#wake();
    this.#port.writeCollect(offset, sizeBytes, low, high);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#wake();
    this.#port.writePio(offset, sizeBytes, low, high);
  }

  reset(kind: ResetKind): void {
    this.#begin();
    this.#port.reset(kind);
  }

  setBusMaster(on: boolean): void {
    this.#begin();
    this.#port.setBusMaster(on);
  }

  memoryMapped(address: number, lengthBytes: number): void {
    this.#begin();
    this.#port.memoryMapped(address, lengthBytes);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.#begin();
    this.#port.memoryUnmapped(address, lengthBytes);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    this.#begin();
    return this.#port.requestResources(changes);
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    this.#begin();
    return this.#port.requestTrace(queuePair, attributes);
  }

  plantFault(words: Uint8Array): void {
    this.#begin();
    this.#port.plantFault(words);
  }

  #begin(): void {
    this.#wake();
    this.#loans?.end();
  }
}
