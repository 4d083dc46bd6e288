// SPDX-License-Identifier: Apache-2.0
/**
 * The guest of one function in a run over a whole adapter: a driver brought up, a PD, and a region
 * over all memory with all rights. Used by all runs of this folder.
 */
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { PcieFunction } from '../../hca/adapter/pcie-function.ts';
import { Driver } from '../driver/driver.ts';
import type { BringUpRequest, DriverMemoryRegion } from '../driver/requests.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { InProcessAccess } from '../machine/access.ts';
import type { InProcessMachine } from '../machine/machine.ts';

/** A QoS level without pages uses the first page of the other level. */
class TenantDriver extends Driver {
  override takePage(qosLevel: number): number {
    const count = this.access.readRegister(CSR.VCB_COUNT, 4);
    const levelOne = count - Math.min(count, this.access.readRegister(CSR.QOS_DIVIDER, 8) / PAGE_BYTES);
    return (qosLevel === 0 ? count - levelOne : levelOne) > 0 ? super.takePage(qosLevel) : 0;
  }
}

/** One function and its driver. */
export class Tenant {
  readonly machine: InProcessMachine;
  readonly index: number;
  readonly access: InProcessAccess;
  driver!: Driver;
  pd = 0;
  region!: DriverMemoryRegion;
  readonly #bringUp: BringUpRequest;

  constructor(machine: InProcessMachine, index: number, bringUp: BringUpRequest = {}) {
    this.machine = machine;
    this.index = index;
    this.access = new InProcessAccess(machine, index);
    this.#bringUp = bringUp;
    this.bringUp();
  }

  /** Brings the function up after power-on or a reset. */
  bringUp(): void {
    const { levelOnePages = 0 } = this.#bringUp;
    const pages = Math.min(levelOnePages, Math.floor(this.read(CSR.VCB_COUNT) / 2));
    this.driver = new TenantDriver(this.access).bringUp({ ...this.#bringUp, levelOnePages: pages });
    this.pd = this.driver.createProtectionDomain();
    this.region = this.driver.createDmaRegion(this.pd, FULL_ACCESS);
  }

  /** The function itself, behind its seam. */
  get core(): PcieFunction {
    return this.machine.core.functions[this.index] as PcieFunction;
  }

  /** A 32-bit register, or one of an array. */
  read(offset: number, index = 0): number {
    return this.access.readRegister(offset + index * 4, 4);
  }

  lidOf(port: number): number {
    return this.read(CSR.PORT_LID, port - 1);
  }

  /** A view of guest memory. */
  bytes(address: number, lengthBytes: number): Uint8Array {
    const view = this.access.view(address, lengthBytes);
    return new Uint8Array(view.buffer, view.byteOffset, lengthBytes);
  }
}
