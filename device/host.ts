// SPDX-License-Identifier: Apache-2.0
/**
 * The seam between the adapter and its host (DESIGN.md section 3). Three hosts implement it: vfio-user (a real QEMU guest), in-process (tests, with
 * modelled guest memory and simulated time) and replay (a recording). Everything the adapter learns from outside and everything it does to the outside
 * goes through these interfaces, which is what makes it deterministic.
 */

/** Why a function is reset. `device`: system or bus reset; `function`: FLR; `lost`: the client went away; `software`: DEVICE_CONTROL.reset. */
export type ResetKind = 'device' | 'function' | 'lost' | 'software';

/** Memory of the adapter that is copied often: the same bytes twice, once as words in the order of this machine. */
export interface WordBlock {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

/** What one function of the adapter asks of its host. Addresses are guest (bus) addresses, Numbers below 2^53. */
export interface HostPort {
  /**
   * Copies guest memory into `target`. False when any byte of the range is not mapped; `target` is then undefined.
   */
  readMemory(address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean;

  /** Copies into guest memory. False, with nothing promised about the range, when any byte of it is not mapped or not writable. */
  writeMemory(address: number, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean;

  /**
   * As `readMemory` and `writeMemory`, for a few words, with address, length and offset in bytes, all multiples of 4. Left out by hosts that do not keep guest memory
   * as words: for those that do, this spares taking them apart and putting them together again.
   */
  readWords?(address: number, lengthBytes: number, target: Int32Array, targetOffset: number): boolean;
  writeWords?(address: number, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean;

  /**
   * Writes an entry a guest polls on: the body first, then the last `validBytes` (1, 2, 4 or 8, naturally aligned) as one store by itself.
   * False when not writable.
   */
  publish(address: number, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean;

  /**
   * Atomic compare-and-swap of the little-endian dword at `address`, a multiple of 4. Returns the value found, as a signed dword (an unsigned one would be a
   * heap number), or undefined when the dword is not mapped for reading and writing.
   */
  compareAndSwap(address: number, expected: number, desired: number): number | undefined;

  /** Sends the MSI-X message of a vector. False when the vector is masked or MSI-X is off: the adapter keeps it pending. */
  raiseVector(vector: number): boolean;
}

/** Time as the adapter sees it: ns since the adapter was powered on, monotonic, never read from a wall clock by a unit. */
export interface AdapterClock {
  now(): number;
  /** Asks for a `run` at `atNs` or as soon after as possible. An earlier alarm stays. */
  setAlarm(atNs: number): void;
}

/** What became of a resource request: a management status; for a refused one the change at fault, the field in it, and what would have been accepted. */
export interface ResourceAnswer {
  readonly status: number;
  readonly index: number;
  readonly offset: number;
  readonly limit: number;
}

/**
 * What a host calls on one function. Values of 8 bytes travel as two dwords, low first; narrower ones in `low`.
 * Offsets are within the BAR; sizes are 1, 2, 4 or 8. No call throws, whatever the guest does, and none takes long: doorbells only mark work.
 */
export interface FunctionPort {
  /** Reads BAR0; returns the low dword and leaves the high one in `readHigh`. */
  readRegister(offset: number, sizeBytes: number): number;
  /** High dword of the last 8-byte `readRegister`. */
  readonly readHigh: number;
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR2. */
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR4. */
  writePio(offset: number, sizeBytes: number, low: number, high: number): void;
  reset(kind: ResetKind): void;
  setBusMaster(on: boolean): void;
  /** A DMA region became accessible. Informs only: the host answers accesses. */
  memoryMapped(address: number, lengthBytes: number): void;
  /** A DMA region is gone: every later access to it fails. */
  memoryUnmapped(address: number, lengthBytes: number): void;
  /** A resource request of the host, which plays the virtual machine manager of this function's adapter: `resource-change` records, done all or none. */
  requestResources(changes: Uint8Array): ResourceAnswer;
  /** The host switches the trace of one of the function's QPs: `trace-attributes`, as in MODIFY_TRACE. Returns a management status. */
  requestTrace(queuePair: number, attributes: Uint8Array): number;
}

/** What a host calls on the adapter as a whole. */
export interface AdapterPort {
  readonly functions: readonly FunctionPort[];
  /** Runs ready units for at most `budget` units of work, flushes interrupts, and says whether more work is ready now. */
  run(budget: number): boolean;
}
