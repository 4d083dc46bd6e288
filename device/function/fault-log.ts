// SPDX-License-Identifier: Apache-2.0
/**
 * Faults of one function, counted by kind. The first fault since the record was cleared is kept
 * with kind, object, address and time. Units report here every error of the guest and every refusal
 * of the bus (docs/DOCUMENTS.md decision 15): a guest error never throws. Registers show the log.
 */
import { highDword, lowDword } from '../../protocol/layout/dwords.ts';
import { CSR_FAULT_COUNT_COUNT } from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { LocalTime } from './local-time.ts';

const SATURATED = 0xffffffff;

export class FaultLog {
  readonly counts = new Uint32Array(CSR_FAULT_COUNT_COUNT);
  firstKind: FaultKind = FaultKind.NONE;
  firstObject = 0;
  firstAddressLow = 0;
  firstAddressHigh = 0;
  firstTimeLow = 0;
  firstTimeHigh = 0;
  readonly #time: LocalTime;

  constructor(time: LocalTime) {
    this.#time = time;
  }

  /**
   * Counts a fault. `object`: QPN, CQN or page at fault, or 0; `address`: register offset or guest
   * address.
   */
  report(kind: FaultKind, object: number, address: number): void {
    if (this.counts[kind] < SATURATED) this.counts[kind]++;
    if (this.firstKind !== FaultKind.NONE) return;
    this.firstKind = kind;
    this.firstObject = object;
    this.firstAddressLow = lowDword(address) >>> 0;
    this.firstAddressHigh = highDword(address) >>> 0;
    this.#time.sample();
    this.firstTimeLow = this.#time.low;
    this.firstTimeHigh = this.#time.high;
  }

  /** Clears the record of the first fault; the counts stay. */
  clearFirst(): void {
    this.firstKind = FaultKind.NONE;
    this.firstObject = 0;
    this.firstAddressLow = 0;
    this.firstAddressHigh = 0;
    this.firstTimeLow = 0;
    this.firstTimeHigh = 0;
  }

  reset(): void {
    this.counts.fill(0);
    this.clearFirst();
  }
}
