// SPDX-License-Identifier: Apache-2.0
/**
 * The interface between the driver and its machine: the BARs of one function, and memory that the
 * device reaches. The in-process machine and a vfio-user client implement it, so that one suite of
 * tests runs on both. Calls are synchronous; the device works during `waitFor` and `settle`.
 */

/** One function as software sees it. Values of 8 bytes are two dwords, low first. */
export interface HardwareAccess {
  /** Reads BAR0; returns the low dword and keeps the high one in `readHigh`. */
  readRegister(offset: number, sizeBytes: number): number;
  /** High dword of the last 8-byte `readRegister`. */
  readonly readHigh: number;
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR2. */
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR4. */
  writePio(offset: number, sizeBytes: number, low: number, high: number): void;
  /** First bus address and size of the driver's memory, which is mapped for the device. */
  readonly memoryAddress: number;
  readonly memoryBytes: number;
  /** A live view of memory at a bus address. */
  view(address: number, lengthBytes: number): DataView;
  /** Lets the device work until `condition` holds; throws an error with `what` if it never does. */
  waitFor(condition: () => boolean, what: string): void;
  /** Lets the device work until it is idle, as far as the host can know. */
  settle(): void;
}
