// SPDX-License-Identifier: Apache-2.0
/**
 * Device memory of one function: memory of the adapter that software reads and writes through BAR0
 * and that memory regions of kind DEVICE show to queue pairs (docs/FEATURES.md, Device memory).
 * Ranges of it are allocated first fit, in granules of 64 bytes. An access beyond the allocated
 * ranges is a fault. Management allocates; the PCIe function and `DeviceMemoryRegion` access.
 */
import { DEVICE_MEMORY_GRANULE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import { type FaultLog, NO_OBJECT } from './fault-log.ts';

/** Device memory of a function unless an option says otherwise. */
export const DEVICE_MEMORY_DEFAULT_BYTES = 256 * 1024;
const DWORD_BYTES = 4;

export class DeviceMemory {
  readonly sizeBytes: number;
  /** Bytes of allocated ranges. */
  usedBytes = 0;
  /** High dword of the last `load`. */
  high = 0;
  readonly #faults: FaultLog;
  /** 1 for each granule of an allocated range. */
  readonly #taken: Uint8Array;
  /** Allocated with the first range: most functions need none. */
  #words = new Int32Array(0);
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);

  /** `sizeBytes`: a multiple of 64. */
  constructor(sizeBytes: number, faults: FaultLog) {
    this.sizeBytes = sizeBytes;
    this.#faults = faults;
    this.#taken = new Uint8Array(sizeBytes / DEVICE_MEMORY_GRANULE_BYTES);
  }

  /**
   * Allocates and zeroes the first free range of `lengthBytes` bytes, at least one, at a multiple
   * of `alignmentBytes`. Returns its offset; undefined when there is none.
   */
  allocate(lengthBytes: number, alignmentBytes: number): number | undefined {
    const count = Math.ceil(lengthBytes / DEVICE_MEMORY_GRANULE_BYTES);
    const step = Math.max(1, alignmentBytes / DEVICE_MEMORY_GRANULE_BYTES);
    for (let first = 0; first + count <= this.#taken.length; ) {
      const last = this.#taken.subarray(first, first + count).lastIndexOf(1);
      if (last < 0) return this.#take(first, count);
      first = Math.ceil((first + last + 1) / step) * step;
    }
    return undefined;
  }

  /** Frees a range that `allocate` gave. */
  free(offset: number, lengthBytes: number): void {
    const count = Math.ceil(lengthBytes / DEVICE_MEMORY_GRANULE_BYTES);
    this.#taken.fill(0, offset / DEVICE_MEMORY_GRANULE_BYTES, offset / DEVICE_MEMORY_GRANULE_BYTES + count);
    this.usedBytes -= count * DEVICE_MEMORY_GRANULE_BYTES;
  }

  /** Frees all ranges at a reset of the function. */
  reset(): void {
    this.#taken.fill(0);
    this.usedBytes = 0;
  }

  /**
   * A read by software, of 1, 2, 4 or 8 bytes. Returns the low dword, signed, and leaves the high
   * one in `high`. Zero after a fault.
   */
  load(offset: number, sizeBytes: number): number {
    this.high = 0;
    if (!this.#allows(offset, sizeBytes)) {
      this.#faults.duringRead(sizeBytes).report(FaultKind.DEVICE_MEMORY, NO_OBJECT, offset);
      return 0;
    }
    if (sizeBytes === 1) return this.#bytes[offset];
    if (sizeBytes === 2) return this.#view.getUint16(offset, true);
    if (sizeBytes === 2 * DWORD_BYTES) this.high = this.#view.getInt32(offset + DWORD_BYTES, true);
    return this.#view.getInt32(offset, true);
  }

  /** A write by software, of 1, 2, 4 or 8 bytes; dropped after a fault. */
  store(offset: number, sizeBytes: number, low: number, high: number): void {
    if (!this.#allows(offset, sizeBytes))
      return this.#faults.duringWrite(sizeBytes, low, high).report(FaultKind.DEVICE_MEMORY, NO_OBJECT, offset);
    if (sizeBytes === 1) this.#view.setUint8(offset, low);
    else if (sizeBytes === 2) this.#view.setUint16(offset, low, true);
    else this.#view.setInt32(offset, low, true);
    if (sizeBytes === 2 * DWORD_BYTES) this.#view.setInt32(offset + DWORD_BYTES, high, true);
  }

  /** Copies a part of an allocated range into `target`. */
  read(offset: number, lengthBytes: number, target: WordBlock, targetOffset: number): void {
    if (isAligned(offset, lengthBytes, targetOffset))
      copy(this.#words, offset >> 2, lengthBytes >> 2, target.words, targetOffset >> 2);
    else copy(this.#bytes, offset, lengthBytes, target.bytes, targetOffset);
  }

  /** Copies `source` into a part of an allocated range. */
  write(offset: number, lengthBytes: number, source: WordBlock, sourceOffset: number): void {
    if (isAligned(offset, lengthBytes, sourceOffset) && source.words.length > 0)
      copy(source.words, sourceOffset >> 2, lengthBytes >> 2, this.#words, offset >> 2);
    else copy(source.bytes, sourceOffset, lengthBytes, this.#bytes, offset);
  }

  /** A new owner must not see what the last one has left. */
  #take(first: number, count: number): number {
    if (this.#words.length === 0) {
      this.#words = new Int32Array(this.sizeBytes / DWORD_BYTES);
      this.#bytes = new Uint8Array(this.#words.buffer);
      this.#view = new DataView(this.#words.buffer);
    }
    this.#taken.fill(1, first, first + count);
    this.#bytes.fill(0, first * DEVICE_MEMORY_GRANULE_BYTES, (first + count) * DEVICE_MEMORY_GRANULE_BYTES);
    this.usedBytes += count * DEVICE_MEMORY_GRANULE_BYTES;
    return first * DEVICE_MEMORY_GRANULE_BYTES;
  }

  #allows(offset: number, sizeBytes: number): boolean {
    const last = Math.floor((offset + sizeBytes - 1) / DEVICE_MEMORY_GRANULE_BYTES);
    return this.#taken[Math.floor(offset / DEVICE_MEMORY_GRANULE_BYTES)] === 1 && this.#taken[last] === 1;
  }
}

function isAligned(offset: number, lengthBytes: number, otherOffset: number): boolean {
  return ((offset | lengthBytes | otherOffset) & (DWORD_BYTES - 1)) === 0;
}

/** A loop: `set` needs a `subarray`, which allocates. */
function copy<T extends Int32Array | Uint8Array>(
  source: T,
  sourceIndex: number,
  count: number,
  target: T,
  targetIndex: number,
): void {
  for (let index = 0; index < count; index++) target[targetIndex + index] = source[sourceIndex + index];
}
