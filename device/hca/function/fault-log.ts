// SPDX-License-Identifier: Apache-2.0
/**
 * Faults of one function, counted by kind. The first fault since the record was cleared is kept
 * with kind, object (kind and number), address, time, and the access of software that caused it.
 * Units report here every error of the guest and every refusal of the bus (docs/DOCUMENTS.md
 * decision 15): a guest error never throws. Registers show the log.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { CSR_FAULT_COUNT_COUNT } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { LocalTime } from './local-time.ts';

const SATURATED = 0xffffffff;
const DWORD_BYTES = 4;

/** An object that a fault may name. */
export interface FaultSubject {
  readonly number: number;
  readonly faultObject: FaultObject;
}

/** Subjects without a number. */
export const NO_OBJECT: FaultSubject = { number: 0, faultObject: FaultObject.NONE };
export const PAGE_LIST: FaultSubject = { number: 0, faultObject: FaultObject.PAGE_LIST };
export const OVERFLOW_BUFFER: FaultSubject = { number: 0, faultObject: FaultObject.OVERFLOW_BUFFER };

/** An access of software to a BAR: its size, 0 for none, and what it writes, in signed dwords. */
export interface SoftwareAccess {
  sizeBytes: number;
  isWrite: boolean;
  low: number;
  high: number;
}

const NO_ACCESS: SoftwareAccess = { sizeBytes: 0, isWrite: false, low: 0, high: 0 };

export class FaultLog {
  readonly counts = new Uint32Array(CSR_FAULT_COUNT_COUNT);
  firstKind: FaultKind = FaultKind.NONE;
  firstObjectKind: FaultObject = FaultObject.NONE;
  firstObject = 0;
  firstAddressLow = 0;
  firstAddressHigh = 0;
  firstTimeLow = 0;
  firstTimeHigh = 0;
  /** The access that caused the first fault. */
  readonly firstAccess: SoftwareAccess = { ...NO_ACCESS };
  /** The access that a unit performs now. */
  readonly #access: SoftwareAccess = { ...NO_ACCESS };
  readonly #time: LocalTime;

  constructor(time: LocalTime) {
    this.#time = time;
  }

  /**
   * A unit performs a write of software: the next fault is of this access, unless `endAccess` comes
   * before it.
   */
  duringWrite(sizeBytes: number, low: number, high: number): this {
    const access = this.#access;
    access.sizeBytes = sizeBytes;
    access.isWrite = true;
    access.low = low | 0;
    access.high = sizeBytes > DWORD_BYTES ? high | 0 : 0;
    return this;
  }

  /** The same of a read. */
  duringRead(sizeBytes: number): this {
    const access = this.#access;
    access.sizeBytes = sizeBytes;
    access.isWrite = false;
    access.low = 0;
    access.high = 0;
    return this;
  }

  endAccess(): void {
    this.#access.sizeBytes = 0;
  }

  /** Counts a fault of `subject`. `address`: register offset or guest address. */
  report(kind: FaultKind, subject: FaultSubject, address: number): void {
    this.reportNumber(kind, subject.faultObject, subject.number, address);
  }

  /** Counts a fault of an object that is known by its number alone. */
  reportNumber(kind: FaultKind, objectKind: FaultObject, object: number, address: number): void {
    if (this.counts[kind] < SATURATED) this.counts[kind]++;
    if (this.firstKind === FaultKind.NONE) this.#keep(kind, objectKind, object, address);
    this.endAccess();
  }

  #keep(kind: FaultKind, objectKind: FaultObject, object: number, address: number): void {
    Object.assign(this.firstAccess, this.#access);
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
    Object.assign(this.firstAccess, NO_ACCESS);
  }

  reset(): void {
    this.counts.fill(0);
    Object.assign(this.#access, NO_ACCESS);
    this.clearFirst();
  }
}
