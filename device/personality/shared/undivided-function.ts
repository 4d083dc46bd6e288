// SPDX-License-Identifier: Apache-2.0
/**
 * The part of a PCIe function that devices of other vendors have in common: no resources that a
 * host could divide, no traces that a host could request, no PIO. Hosts call it through
 * `FunctionPort`.
 */
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { Step } from '../../hca/function/timeline.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { ResetKind, ResourceAnswer } from '../../host.ts';
import { decodeFault, type FaultyDevice, readFault } from './injected-faults.ts';

const REFUSED: ResourceAnswer = { status: ManagementStatus.BAD_OPCODE, index: 0, offset: 0, limit: 0 };

export abstract class UndividedFunction {
  /** Its doorbells are always taken. */
  readonly takesAccess = true;
  readHigh = 0;
  protected readonly underlying: UnderlyingFunction;
  readonly #faulty: FaultyDevice;

  constructor(underlying: UnderlyingFunction, faulty: FaultyDevice) {
    this.underlying = underlying;
    this.#faulty = faulty;
  }

  /** The words are those that `readFault` took before: a host checks what a user gives. */
  plantFault(words: Uint8Array): void {
    readFault(this.#faulty, decodeFault(words)).plant();
  }

  writePio(): void {}

  setBusMaster(on: boolean): void {
    this.underlying.setBusMaster(on);
  }

  memoryMapped(): void {}

  memoryUnmapped(): void {
    this.underlying.dma.loans.end();
  }

  requestResources(): ResourceAnswer {
    return REFUSED;
  }

  requestTrace(): number {
    return ManagementStatus.BAD_OPCODE;
  }

  /** Returns to power-on. A reset by software leaves the PCI configuration alone. */
  reset(kind: ResetKind): void {
    const { number, timeline } = this.underlying;
    timeline?.note(Step.FUNCTION_RESET, number, Number(kind !== 'software'));
    if (kind !== 'software') this.setBusMaster(false);
    this.underlying.quiesce();
    this.resetDevice();
    this.underlying.msix.reset();
    this.underlying.reset(kind);
  }

  /** Returns the device behind the function to power-on. */
  protected abstract resetDevice(): void;
}
