// SPDX-License-Identifier: Apache-2.0
/**
 * All that the host-side driver asks of the machine it runs on: one function's BARs, and memory the device reaches. Implemented by the in-process
 * machine and by a raw vfio-user client, so that one suite of tests runs against both. Calls are synchronous; only `waitFor` lets the device run on.
 */

/** One function as software sees it. Values of 8 bytes travel as two dwords, low first. */
export interface HardwareAccess {
  /** Reads BAR0; returns the low dword and leaves the high one in `readHigh`. */
  readRegister(offset: number, sizeBytes: number): number;
  /** High dword of the last 8-byte `readRegister`. */
  readonly readHigh: number;
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR2. */
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR4. */
  writePio(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Memory given to the driver, mapped for the device: first bus address and size. */
  readonly memoryAddress: number;
  readonly memoryBytes: number;
  /** A live view of memory at a bus address. */
  view(address: number, lengthBytes: number): DataView;
  /** Lets the device work until `condition` holds; throws, naming `what`, when it never does. */
  waitFor(condition: () => boolean, what: string): void;
  /** Lets the device work until nothing is left to do, as far as that can be told. */
  settle(): void;
}
