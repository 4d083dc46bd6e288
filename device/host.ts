// SPDX-License-Identifier: Apache-2.0
/**
 * The seam between the adapter and its host (docs/ARCHITECTURE.md, "The seam"; docs/DOCUMENTS.md
 * decision 17). Three hosts implement it: vfio-user (a QEMU guest), in-process (tests, with
 * modelled guest memory and simulated time) and replay (a recording). All input and output of the
 * adapter crosses these interfaces, so the adapter is deterministic. The host stands for root
 * complex and memory (US 8,484,392 par. 24-26).
 */
import type { LoanBook } from './loan-book.ts';

/**
 * Cause of a reset. `device`: system or bus reset; `function`: function level reset; `lost`: the
 * client disconnected; `software`: DEVICE_CONTROL.reset.
 */
export type ResetKind = 'device' | 'function' | 'lost' | 'software';

/**
 * Adapter memory that is copied often: one buffer seen as bytes and as words in host byte order.
 */
export interface WordBlock {
  readonly bytes: Uint8Array;
  /** Empty when the block is seen as bytes only. */
  readonly words: Int32Array;
  /** Length of a read that may be a loan instead, by `borrow`; 0 or absent for none. */
  readonly loanBytes?: number;
  /** What is to be read at `offset` of the block stays at `address` of its owner for now. */
  borrow?(lender: MemoryLender, address: number, offset: number, lengthBytes: number): void;
}

/** Memory of a guest that a packet refers to instead of a copy. */
export interface MemoryLender {
  readonly loans: LoanBook;
  /** Copies the bytes at `address` into `target`; zeros when they are no longer readable. */
  copyLoan(address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): void;
  /** The bytes at `address` in place, or undefined when they are no longer readable. */
  viewLoan(address: number, lengthBytes: number): Uint8Array | undefined;
}

/**
 * A guest (bus) address, a Number below 2^53. Calls take it in an object, because V8 allocates a
 * heap number for an argument of 2^31 or more unless it inlines the call.
 */
export interface BusAddress {
  readonly value: number;
}

/** Calls of one function on its host. No call keeps the `BusAddress`: its value changes. */
export interface HostPort {
  /**
   * Copies guest memory into `target`. Returns false when any byte of the range is not mapped; the
   * content of `target` is then undefined.
   */
  readMemory(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean;

  /**
   * Copies into guest memory. Returns false when any byte of the range is not mapped or not
   * writable; the content of the range is then undefined.
   */
  writeMemory(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean;

  /**
   * As `readMemory` and `writeMemory`, for a few words: address, length and offset in bytes, all
   * multiples of 4. Hosts that keep guest memory as words implement it; it saves splitting words
   * into bytes and joining them again. Other hosts leave it out.
   */
  readWords?(at: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean;
  writeWords?(at: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean;

  /**
   * The bytes of guest memory in place, for one copy from guest to guest. Undefined when the range
   * is not readable in one piece. No caller keeps them: the guest may unmap its memory between two
   * calls of `run`. `isInPlace` says whether there are such bytes. Hosts that keep guest memory in
   * this process implement both; those that record or disorder accesses leave them out.
   */
  viewMemory?(at: BusAddress, lengthBytes: number): Uint8Array | undefined;
  isInPlace?(at: BusAddress, lengthBytes: number): boolean;

  /**
   * Writes an entry that a guest polls: the body first, then the last `validBytes` (1, 2, 4 or 8,
   * naturally aligned) as one separate store. Returns false when the range is not writable.
   */
  publish(at: BusAddress, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean;

  /**
   * As `publish`, for an entry of words at a multiple of 4 whose last word says that it is valid.
   * Optional as `writeWords`.
   */
  publishWords?(at: BusAddress, entry: Int32Array, lengthBytes: number): boolean;

  /**
   * Atomic compare-and-swap of the little-endian dword at an address that is a multiple of 4.
   * Returns the value found, as a signed dword (an unsigned one would be a heap number), or
   * undefined when the dword is not mapped for reading and writing.
   */
  compareAndSwap(at: BusAddress, expected: number, desired: number): number | undefined;

  /**
   * Sends the MSI-X message of a vector. Returns false when the vector is masked or MSI-X is off;
   * the adapter then keeps the vector pending.
   */
  raiseVector(vector: number): boolean;
}

/** Time of the adapter: ns since power-on, monotonic. No unit reads a wall clock. */
export interface AdapterClock {
  now(): number;
  /** Requests a `run` at `atNs` or as soon after as possible. An earlier alarm stays set. */
  setAlarm(atNs: number): void;
}

/**
 * Result of a resource request: a management status. For a refused request also the index of the
 * refused change, the offset of its refused field, and the limit of that field.
 */
export interface ResourceAnswer {
  readonly status: number;
  readonly index: number;
  readonly offset: number;
  readonly limit: number;
}

/**
 * Calls of a host on one function. Values of 8 bytes are passed as two dwords, low first; narrower
 * values in `low`. Offsets are within the BAR; sizes are 1, 2, 4 or 8. No call throws, whatever the
 * guest does. No call takes long: doorbells only mark work.
 */
export interface FunctionPort {
  /** Reads BAR0; returns the low dword and leaves the high one in `readHigh`. */
  readRegister(offset: number, sizeBytes: number): number;
  /** High dword of the last 8-byte `readRegister`. */
  readonly readHigh: number;
  /**
   * False while a posted write blocks the bus, as the model `pcie` has it: the host makes no
   * further access of the function, of whatever kind, before it is true again.
   */
  readonly takesAccess: boolean;
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void;
  /**
   * Writes BAR2. Dwords may be signed, as in `writePio`: V8 may allocate an unsigned one as a heap
   * number.
   */
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void;
  /** Writes BAR4. */
  writePio(offset: number, sizeBytes: number, low: number, high: number): void;
  reset(kind: ResetKind): void;
  setBusMaster(on: boolean): void;
  /** A DMA region became accessible. For information only: the host answers accesses. */
  memoryMapped(address: number, lengthBytes: number): void;
  /** A DMA region is unmapped: every access to it after this call fails. */
  memoryUnmapped(address: number, lengthBytes: number): void;
  /**
   * A resource request of the host, which acts as the virtual machine manager of the adapter:
   * `resource-change` records, of which all are carried out or none.
   */
  requestResources(changes: Uint8Array): ResourceAnswer;
  /**
   * Sets the trace of one QP of the function on behalf of the host: `trace-attributes`, as in
   * MODIFY_TRACE. Returns a management status.
   */
  requestTrace(queuePair: number, attributes: Uint8Array): number;
  /**
   * Plants a fault in the device on behalf of the host: words, in UTF-8 with spaces between. Only
   * personalities have some (device/personality/shared/injected-faults.ts); other functions do
   * nothing.
   */
  plantFault(words: Uint8Array): void;
}

/** The connection of a link to another process, as the host keeps it. */
export interface LinkStream {
  /**
   * Sends bytes, which the caller may use again at once if the answer is true. It is false when
   * enough bytes wait; the caller leaves the bytes alone and sends no more until a call of
   * `LinkPort.drained`.
   */
  write(bytes: Uint8Array): boolean;
  close(): void;
}

/** Calls of a host on a link to another process, which has one connection at a time. */
export interface LinkPort {
  /** A peer is there. The link may close the connection within the call. */
  connect(stream: LinkStream): void;
  /** Bytes have come; they may have any value. */
  receive(stream: LinkStream, chunk: Uint8Array): void;
  /** The connection accepts bytes again. */
  drained(stream: LinkStream): void;
  /** The connection is gone. */
  disconnect(stream: LinkStream): void;
}

/** Calls of a host on the adapter. */
export interface AdapterPort {
  readonly functions: readonly FunctionPort[];
  /** Links to other processes. */
  readonly linkPorts?: readonly LinkPort[];
  /**
   * Runs ready units for at most `budget` units of work and sends interrupts. Returns true when
   * more work is ready now.
   */
  run(budget: number): boolean;
  /**
   * Time up to which the adapter watches memory for commands; 0 when it does not. The host either
   * goes on calling `run` without a wait, or calls `rest` first.
   */
  readonly pollUntilNs?: number;
  /**
   * The host is about to wait: the adapter watches no memory any longer. Returns true when it has
   * found more work: the host then calls `run` and does not wait.
   */
  rest?(): boolean;
  /**
   * Cuts, plugs in or changes a link of one of its ports on behalf of the host
   * (device/fabric/link/link-changes.ts has the words). Throws RangeError for what does not fit.
   */
  changeLink?(words: Uint8Array): void;
}
