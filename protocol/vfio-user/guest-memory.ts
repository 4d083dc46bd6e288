// SPDX-License-Identifier: Apache-2.0
/**
 * The only access to guest memory: a sorted table of DMA regions, searched for each transfer. If a
 * range is not completely mapped with the needed access right, a method returns false (or -1, or
 * undefined) and touches nothing. Addresses and lengths come from the guest and are untrusted.
 * Accesses take effect at once; the device's host interface decides on their order.
 */
import { DmaRegion, type DmaRegionInfo, WINDOW_BYTES, type Window } from './dma-region.ts';

/**
 * Up to this size a loop is faster than `set(subarray)`, which also allocates a view per access.
 */
const LOOP_BYTES = 64;

export class GuestMemory {
  readonly #regions: DmaRegion[] = [];
  #last = 0;
  #firstWord = 0;

  /** The regions by address. */
  get regions(): readonly DmaRegionInfo[] {
    return this.#regions;
  }

  /** Adds a region; the library refuses overlaps. The DMA register callback calls it. */
  register(info: DmaRegionInfo): void {
    this.#regions.splice(this.#firstEndingAbove(info.address), 0, new DmaRegion(info));
  }

  /** Removes a region and its views. False if no region matches. */
  unregister(address: number, sizeBytes: number): boolean {
    const index = this.#firstEndingAbove(address);
    const region = this.#regions[index];
    if (region === undefined || region.address !== address || region.sizeBytes !== sizeBytes) return false;
    this.#regions.splice(index, 1);
    return true;
  }

  /** True if all of [address, address + lengthBytes) is mapped, and writable if `forWrite`. */
  covers(address: number, lengthBytes: number, forWrite: boolean): boolean {
    if (!(lengthBytes >= 0 && address >= 0 && lengthBytes <= Number.MAX_SAFE_INTEGER - address)) return false;
    if (!Number.isInteger(address) || !Number.isInteger(lengthBytes)) return false;
    let at = address;
    const end = address + lengthBytes;
    for (let index = this.#find(address); at < end; index++) {
      const region = this.#regions[index];
      if (region === undefined || region.address > at || region.end <= at) return false;
      if (!(forWrite ? region.writable : region.readable)) return false;
      at = region.end;
    }
    return true;
  }

  /**
   * Copies guest memory into `target`. False if a part is not readable; `target` is then unchanged.
   */
  read(address: number, target: Uint8Array, targetOffset: number, lengthBytes: number): boolean {
    if (!this.covers(address, lengthBytes, false) || !fits(target, targetOffset, lengthBytes)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const region = this.#regions[this.#find(address + done)];
      const inRegion = address + done - region.address;
      const window = region.window(Math.floor(inRegion / WINDOW_BYTES));
      const start = inRegion % WINDOW_BYTES;
      const count = Math.min(lengthBytes - done, window.bytes.length - start);
      load(target, targetOffset + done, window, start, count);
      done += count;
    }
    return true;
  }

  /**
   * Copies `source` into guest memory. False if a part is not writable; nothing is then written.
   */
  write(address: number, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.covers(address, lengthBytes, true) || !fits(source, sourceOffset, lengthBytes)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const region = this.#regions[this.#find(address + done)];
      const inRegion = address + done - region.address;
      const window = region.window(Math.floor(inRegion / WINDOW_BYTES));
      const start = inRegion % WINDOW_BYTES;
      const count = Math.min(lengthBytes - done, window.bytes.length - start);
      store(window, start, source, sourceOffset + done, count);
      done += count;
    }
    return true;
  }

  /**
   * As `read`, for a few words in host byte order. `address`, `targetOffset` and `lengthBytes` are
   * multiples of 4.
   */
  readWords(address: number, target: Int32Array, targetOffset: number, lengthBytes: number): boolean {
    const words = this.#wordsOf(address, lengthBytes, false);
    const count = lengthBytes / 4;
    const to = targetOffset / 4;
    if (words === undefined || to + count > target.length)
      return this.read(address, bytesOf(target), targetOffset, lengthBytes);
    const from = this.#firstWord;
    for (let index = 0; index < count; index++) target[to + index] = words[from + index];
    return true;
  }

  /** As `write`, for a few words; see `readWords`. */
  writeWords(address: number, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    const words = this.#wordsOf(address, lengthBytes, true);
    const count = lengthBytes / 4;
    const from = sourceOffset / 4;
    if (words === undefined || from + count > source.length)
      return this.write(address, bytesOf(source), sourceOffset, lengthBytes);
    const to = this.#firstWord;
    for (let index = 0; index < count; index++) words[to + index] = source[from + index];
    return true;
  }

  /** Fills guest memory with one byte value. */
  fill(address: number, byte: number, lengthBytes: number): boolean {
    if (!this.covers(address, lengthBytes, true)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const region = this.#regions[this.#find(address + done)];
      const inRegion = address + done - region.address;
      const { bytes } = region.window(Math.floor(inRegion / WINDOW_BYTES));
      const start = inRegion % WINDOW_BYTES;
      const count = Math.min(lengthBytes - done, bytes.length - start);
      bytes.fill(byte, start, start + count);
      done += count;
    }
    return true;
  }

  /** One atomic aligned load of 4 bytes, or -1 if `address` is unmapped or unaligned. */
  readU32(address: number): number {
    const region = this.#aligned(address, 4, false);
    if (region === undefined) return -1;
    const inRegion = address - region.address;
    const { words } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    return Atomics.load(words, (inRegion % WINDOW_BYTES) / 4);
  }

  /** One atomic aligned store of 4 bytes, ordered after all earlier stores. */
  writeU32(address: number, value: number): boolean {
    const region = this.#aligned(address, 4, true);
    if (region === undefined) return false;
    const inRegion = address - region.address;
    const { words } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    Atomics.store(words, (inRegion % WINDOW_BYTES) / 4, value);
    return true;
  }

  /** One atomic aligned load of 8 bytes into `target` (low word first). */
  readU64(address: number, target: Uint32Array, targetIndex: number): boolean {
    const region = this.#aligned(address, 8, false);
    if (region === undefined || targetIndex + 2 > target.length) return false;
    const inRegion = address - region.address;
    const { quads } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    SCRATCH_QUAD[0] = Atomics.load(quads, (inRegion % WINDOW_BYTES) / 8);
    target[targetIndex] = SCRATCH[0];
    target[targetIndex + 1] = SCRATCH[1];
    return true;
  }

  /** One atomic aligned store of 8 bytes, ordered after all earlier stores. */
  writeU64(address: number, low: number, high: number): boolean {
    const region = this.#aligned(address, 8, true);
    if (region === undefined) return false;
    const inRegion = address - region.address;
    const { quads } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    SCRATCH[0] = low;
    SCRATCH[1] = high;
    Atomics.store(quads, (inRegion % WINDOW_BYTES) / 8, SCRATCH_QUAD[0]);
    return true;
  }

  /**
   * Atomic compare-and-swap of 4 bytes: the old value, or -1 if not readable, writable or aligned.
   */
  compareExchangeU32(address: number, expected: number, replacement: number): number {
    const region = this.#aligned(address, 4, true);
    if (region === undefined || !region.readable) return -1;
    const inRegion = address - region.address;
    const { words } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    return Atomics.compareExchange(words, (inRegion % WINDOW_BYTES) / 4, expected >>> 0, replacement >>> 0);
  }

  /** Atomic compare-and-swap of 8 opaque bytes: the old value, or undefined. */
  compareExchangeU64(address: number, expected: bigint, replacement: bigint): bigint | undefined {
    const region = this.#aligned(address, 8, true);
    if (region === undefined || !region.readable) return undefined;
    const inRegion = address - region.address;
    const { quads } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    return Atomics.compareExchange(quads, (inRegion % WINDOW_BYTES) / 8, expected, replacement);
  }

  /** Atomic addition modulo 2^64: the old value, or undefined. */
  fetchAddU64(address: number, addend: bigint): bigint | undefined {
    const region = this.#aligned(address, 8, true);
    if (region === undefined || !region.readable) return undefined;
    const inRegion = address - region.address;
    const { quads } = region.window(Math.floor(inRegion / WINDOW_BYTES));
    return Atomics.add(quads, (inRegion % WINDOW_BYTES) / 8, addend);
  }

  /**
   * Words of the window that holds the whole range, with the index of the first one in
   * `#firstWord`; undefined if the range is not accessible, unaligned, or in two windows.
   */
  #wordsOf(address: number, lengthBytes: number, forWrite: boolean): Uint32Array | undefined {
    const region = this.#regions[this.#find(address)];
    if (region === undefined || !(address >= region.address && address + lengthBytes <= region.end)) return undefined;
    if (!(forWrite ? region.writable : region.readable)) return undefined;
    const inRegion = address - region.address;
    const start = inRegion % WINDOW_BYTES;
    if (start % 4 !== 0 || start + lengthBytes > WINDOW_BYTES) return undefined;
    this.#firstWord = start / 4;
    return region.window(Math.floor(inRegion / WINDOW_BYTES)).words;
  }

  #aligned(address: number, sizeBytes: number, forWrite: boolean): DmaRegion | undefined {
    const region = this.#regions[this.#find(address)];
    if (region === undefined || !(address >= region.address && address + sizeBytes <= region.end)) return undefined;
    if (address % sizeBytes !== 0) return undefined;
    return (forWrite ? region.writable : region.readable) ? region : undefined;
  }

  /**
   * Index of the region that holds `address`, or of another one. Tries the last one found first.
   */
  #find(address: number): number {
    const last = this.#regions[this.#last];
    if (last !== undefined && address >= last.address && address < last.end) return this.#last;
    this.#last = this.#firstEndingAbove(address);
    return this.#last;
  }

  #firstEndingAbove(address: number): number {
    let low = 0;
    let high = this.#regions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#regions[middle].end > address) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Two words and the same bytes as one quad: converts 64 bits without BigInt arithmetic. */
const SCRATCH = new Uint32Array(2);
const SCRATCH_QUAD = new BigUint64Array(SCRATCH.buffer);

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function fits(array: Uint8Array, offset: number, lengthBytes: number): boolean {
  return offset >= 0 && lengthBytes <= array.length - offset;
}

/*
 * A processor of the guest may access a record while the device does. A bus transfers aligned words
 * as a whole, and guests rely on it. Copied byte by byte, a counter that goes from 0x1ff to 0x200
 * could read as 0x2ff; so small transfers move whole words.
 */

function load(target: Uint8Array, at: number, { bytes, words }: Window, from: number, count: number): void {
  if (count > LOOP_BYTES) {
    target.set(bytes.subarray(from, from + count), at);
    return;
  }
  let i = 0;
  if (from % 4 === 0) {
    for (; i + 4 <= count; i += 4) {
      const word = words[(from + i) / 4];
      target[at + i] = word;
      target[at + i + 1] = word >>> 8;
      target[at + i + 2] = word >>> 16;
      target[at + i + 3] = word >>> 24;
    }
  }
  for (; i < count; i++) target[at + i] = bytes[from + i];
}

function store({ bytes, words }: Window, at: number, source: Uint8Array, from: number, count: number): void {
  if (count > LOOP_BYTES) {
    bytes.set(source.subarray(from, from + count), at);
    return;
  }
  let i = 0;
  if (at % 4 === 0) {
    for (; i + 4 <= count; i += 4) {
      const k = from + i;
      words[(at + i) / 4] = source[k] | (source[k + 1] << 8) | (source[k + 2] << 16) | (source[k + 3] << 24);
    }
  }
  for (; i < count; i++) bytes[at + i] = source[from + i];
}
