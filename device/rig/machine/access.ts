// SPDX-License-Identifier: Apache-2.0
/** The driver's access to one function of an in-process machine (`HardwareAccess`). */
import type { FunctionPort } from '../../host.ts';
import type { HardwareAccess } from '../driver/hardware-access.ts';
import type { InProcessHost } from './host.ts';
import type { InProcessMachine } from './machine.ts';

/** One function of a machine, as hardware. */
export class InProcessAccess implements HardwareAccess {
  readonly machine: InProcessMachine;
  readonly port: FunctionPort;
  readonly host: InProcessHost;
  /** A wait for the bus is in progress; observers of the machine's steps may still read. */
  #waits = false;

  constructor(machine: InProcessMachine, functionIndex = 0) {
    this.machine = machine;
    this.port = machine.functionAt(functionIndex);
    this.host = machine.hostAt(functionIndex);
  }

  get memoryAddress(): number {
    return this.host.memory.base;
  }

  get memoryBytes(): number {
    return this.host.memory.lengthBytes;
  }

  get readHigh(): number {
    return this.port.readHigh;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.#waitForBus();
    return this.port.readRegister(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#waitForBus();
    this.port.writeRegister(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#waitForBus();
    this.port.writeCollect(offset, sizeBytes, low, high);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#waitForBus();
    this.port.writePio(offset, sizeBytes, low, high);
  }

  view(address: number, lengthBytes: number): DataView {
    return this.host.memory.view(address, lengthBytes);
  }

  waitFor(condition: () => boolean, what: string): void {
    this.machine.runUntil(condition, what);
  }

  settle(): void {
    this.machine.runUntilIdle();
  }

  /** A processor whose posted write blocks the bus waits; the adapter and other functions go on. */
  #waitForBus(): void {
    if (this.port.takesAccess || this.#waits) return;
    this.#waits = true;
    try {
      this.machine.runUntil(() => this.port.takesAccess, 'room on the bus');
    } finally {
      this.#waits = false;
    }
  }
}
