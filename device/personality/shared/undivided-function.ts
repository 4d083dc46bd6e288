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

const REFUSED: ResourceAnswer = { status: ManagementStatus.BAD_OPCODE, index: 0, offset: 0, limit: 0 };

export abstract class UndividedFunction {
  /** Its doorbells are always taken. */
  readonly takesAccess = true;
  protected readonly underlying: UnderlyingFunction;

  constructor(underlying: UnderlyingFunction) {
    this.underlying = underlying;
  }

  writePio(): void {}

  setBusMaster(on: boolean): void {
    this.underlying.setBusMaster(on);
  }

  memoryMapped(): void {}

  memoryUnmapped(): void {}

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
