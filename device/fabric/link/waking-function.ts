// SPDX-License-Identifier: Apache-2.0
/**
 * A function of a node as hosts of a fabric call it: each call also says that the node has work, so
 * that the fabric runs this node before the others.
 */
import type { FunctionPort, ResetKind, ResourceAnswer } from '../../host.ts';

export class WakingFunction implements FunctionPort {
  readonly #port: FunctionPort;
  readonly #wake: () => void;

  constructor(port: FunctionPort, wake: () => void) {
    this.#port = port;
    this.#wake = wake;
  }

  get readHigh(): number {
    return this.#port.readHigh;
  }

  get takesAccess(): boolean {
    return this.#port.takesAccess;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.#wake();
    return this.#port.readRegister(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#wake();
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
    this.#wake();
    this.#port.reset(kind);
  }

  setBusMaster(on: boolean): void {
    this.#wake();
    this.#port.setBusMaster(on);
  }

  memoryMapped(address: number, lengthBytes: number): void {
    this.#wake();
    this.#port.memoryMapped(address, lengthBytes);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.#wake();
    this.#port.memoryUnmapped(address, lengthBytes);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    this.#wake();
    return this.#port.requestResources(changes);
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    this.#wake();
    return this.#port.requestTrace(queuePair, attributes);
  }

  plantFault(words: Uint8Array): void {
    this.#wake();
    this.#port.plantFault(words);
  }
}
