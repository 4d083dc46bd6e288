// SPDX-License-Identifier: Apache-2.0
/**
 * A port of an mthca device: a port of an adapter that stays switched off until software enables it
 * with INIT_IB, and whose largest payload is 2048 bytes.
 */
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { Port } from '../../port/port.ts';
import { MTU_CODE } from './limits.ts';

export class MthcaPort extends Port {
  override readonly maxMtuCode = MTU_CODE;
  override activeMtuCode = MTU_CODE;

  get isEnabled(): boolean {
    return this.physicalState !== PortPhysicalState.DISABLED;
  }

  /** The link trains, and comes up when the other end is ready too. */
  enable(): void {
    this.restart(PortPhysicalState.POLLING);
  }

  disable(): void {
    this.restart(PortPhysicalState.DISABLED);
  }
}
