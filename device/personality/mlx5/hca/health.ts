// SPDX-License-Identifier: Apache-2.0
/**
 * Health of the device as its driver polls it: the health buffer in the initialising segment, zeros
 * while the firmware is well. A failure asks the driver for a reset, which ends it.
 */

import { PCI_DEVICE_ID } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import {
  HEALTH_BUFFER_SIZE,
  setHealthBufferFwVersion,
  setHealthBufferHwId,
  setHealthBufferRfr,
  setHealthBufferSeverity,
  setHealthBufferSynd,
  setHealthBufferValid,
} from '../../../../protocol/mlx5/gen/health-buffer.gen.ts';
import { HealthSeverity, HealthSyndrome } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Firmware } from '../../shared/firmware.ts';
import { FIRMWARE_VERSION } from './firmware-version.ts';

/** Failures by the words of a request for one. */
export const fatalCauses: ReadonlyMap<string, HealthSyndrome> = new Map([
  ['internal', HealthSyndrome.FIRMWARE_INTERNAL],
  ['processor', HealthSyndrome.DEAD_INTERRUPT],
  ['hardware', HealthSyndrome.HARDWARE],
  ['temperature', HealthSyndrome.TEMPERATURE],
]);

export class Health {
  /** What is left of the firmware. */
  firmware: Firmware = Firmware.WORKS;
  readonly #buffer = new DataView(new ArrayBuffer(HEALTH_BUFFER_SIZE));

  /** True after a fatal error, until a reset. */
  get hasFailed(): boolean {
    return this.firmware !== Firmware.WORKS;
  }

  /** A dword of the buffer. */
  read(offset: number): number {
    return this.#buffer.getUint32(offset);
  }

  fail(syndrome: HealthSyndrome, firmware: Firmware): void {
    this.firmware = firmware;
    setHealthBufferSynd(this.#buffer, 0, syndrome);
    setHealthBufferSeverity(this.#buffer, 0, HealthSeverity.CRITICAL);
    setHealthBufferValid(this.#buffer, 0, 1);
    setHealthBufferRfr(this.#buffer, 0, 1);
    setHealthBufferFwVersion(this.#buffer, 0, FIRMWARE_VERSION);
    setHealthBufferHwId(this.#buffer, 0, PCI_DEVICE_ID);
  }

  reset(): void {
    this.firmware = Firmware.WORKS;
    for (let offset = 0; offset < HEALTH_BUFFER_SIZE; offset++) this.#buffer.setUint8(offset, 0);
  }
}
