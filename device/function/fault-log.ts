// SPDX-License-Identifier: Apache-2.0
/**
 * Faults of one function: counted by kind, and the first one since the record was cleared kept with what, where and when.
 * Every unit reports here what a guest did wrong or what the bus refused; nothing a guest does is an exception.
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

  /** `object`: QPN, CQN or page at fault, or 0; `address`: register offset or guest address. */
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
