// SPDX-License-Identifier: Apache-2.0
/**
 * Faults of one function, counted by kind. The first fault since the record was cleared is kept
 * with kind, object (kind and number), address and time. Units report here every error of the guest
 * and every refusal of the bus (docs/DOCUMENTS.md decision 15): a guest error never throws.
 * Registers show the log.
 */
import { highDword, lowDword } from '../../protocol/layout/dwords.ts';
import { CSR_FAULT_COUNT_COUNT } from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject } from '../../protocol/layout/gen/values.gen.ts';
import type { LocalTime } from './local-time.ts';

const SATURATED = 0xffffffff;

/** An object that a fault may name. */
export interface FaultSubject {
  readonly number: number;
  readonly faultObject: FaultObject;
}

/** Subjects without a number. */
export const NO_OBJECT: FaultSubject = { number: 0, faultObject: FaultObject.NONE };
export const PAGE_LIST: FaultSubject = { number: 0, faultObject: FaultObject.PAGE_LIST };
export const OVERFLOW_BUFFER: FaultSubject = { number: 0, faultObject: FaultObject.OVERFLOW_BUFFER };

export class FaultLog {
  readonly counts = new Uint32Array(CSR_FAULT_COUNT_COUNT);
  firstKind: FaultKind = FaultKind.NONE;
  firstObjectKind: FaultObject = FaultObject.NONE;
  firstObject = 0;
  firstAddressLow = 0;
  firstAddressHigh = 0;
  firstTimeLow = 0;
  firstTimeHigh = 0;
  readonly #time: LocalTime;

  constructor(time: LocalTime) {
    this.#time = time;
  }

  /** Counts a fault of `subject`. `address`: register offset or guest address. */
  report(kind: FaultKind, subject: FaultSubject, address: number): void {
    this.reportNumber(kind, subject.faultObject, subject.number, address);
  }

  /** Counts a fault of an object that is known by its number alone. */
  reportNumber(kind: FaultKind, objectKind: FaultObject, object: number, address: number): void {
    if (this.counts[kind] < SATURATED) this.counts[kind]++;
    if (this.firstKind !== FaultKind.NONE) return;
    this.firstKind = kind;
    this.firstObjectKind = objectKind;
    this.firstObject = object;
    this.firstAddressLow = lowDword(address) >>> 0;
    this.firstAddressHigh = highDword(address) >>> 0;
    this.#time.sample();
    this.firstTimeLow = this.#time.low;
    this.firstTimeHigh = this.#time.high;
  }

  /** Counts a fault of the collect buffer of a page. */
  reportPage(kind: FaultKind, page: number, address: number): void {
    this.reportNumber(kind, FaultObject.VCB, page, address);
  }

  /** Clears the record of the first fault; the counts stay. */
  clearFirst(): void {
    this.firstKind = FaultKind.NONE;
    this.firstObjectKind = FaultObject.NONE;
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
