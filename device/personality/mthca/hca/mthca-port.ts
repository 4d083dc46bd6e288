// SPDX-License-Identifier: Apache-2.0
/** A port of an mthca device: its largest payload is 2048 bytes. */
import { PersonalityPort } from '../../shared/personality-port.ts';
import { MTU_CODE } from './limits.ts';

export class MthcaPort extends PersonalityPort {
  override readonly maxMtuCode = MTU_CODE;
  override activeMtuCode = MTU_CODE;
}
