// SPDX-License-Identifier: Apache-2.0
/**
 * The only access to guest memory: a sorted table of DMA regions, searched for each transfer. An
 * access takes its address first: `memory.at(address).read(...)`. The address is no argument of the
 * access, because V8 allocates a heap number for an argument of 2^31 or more in each call that it
 * does not inline. If a range is not completely mapped with the needed access right, a method
 * returns false (or -1, or undefined) and touches nothing. Addresses and lengths come from the
 * guest and are untrusted. Accesses take effect at once; the device's host interface decides on
 * their order.
 */
import { DmaRegion, type DmaRegionInfo, WINDOW_BYTES, type Window } from './dma-region.ts';
import { loadBytes, storeToWindow } from './window-copy.ts';

export class GuestMemory {
  readonly #regions: DmaRegion[] = [];
  /** Address of the next access; NaN at first, so that V8 never lays it out for small integers. */
  #address = Number.NaN;
  #last = 0;
  /** Offset of the address in the window that `#window` last returned. */
  #inWindow = 0;

  /** The regions by address. */
  get regions(): readonly DmaRegionInfo[] {
    return this.#regions;
  }

  /** Sets the address of the next access. Each access needs a call of its own. */
  at(address: number): this {
    this.#address = address;
    return this;
  }

  /** Adds a region; the library refuses overlaps. The DMA register callback calls it. */
  register(info: DmaRegionInfo): void {
    this.#regions.splice(this.at(info.address).#firstEndingAbove(), 0, new DmaRegion(info));
  }

  /** True if there is a region with this address and length. */
  has(address: number, sizeBytes: number): boolean {
    return this.#indexOf(address, sizeBytes) >= 0;
  }

  /** Removes a region and its views. False if no region matches. */
  unregister(address: number, sizeBytes: number): boolean {
    const index = this.#indexOf(address, sizeBytes);
    if (index < 0) return false;
    this.#regions.splice(index, 1);
    return true;
  }

  /** True if all of `lengthBytes` is mapped, and writable if `forWrite`. */
  covers(lengthBytes: number, forWrite: boolean): boolean {
    const address = this.#address;
    if (!(lengthBytes >= 0 && address >= 0 && lengthBytes <= Number.MAX_SAFE_INTEGER - address)) return false;
    if (!Number.isInteger(address) || !Number.isInteger(lengthBytes)) return false;
    let at = address;
    const end = address + lengthBytes;
    for (let index = this.#find(); at < end; index++) {
      const region = this.#regions[index];
      if (region === undefined || region.address > at || region.end <= at) return false;
      if (!(forWrite ? region.writable : region.readable)) return false;
      at = region.end;
    }
    return true;
  }

  /** True when the whole range is readable and lies in one window. */
  isInPlace(lengthBytes: number): boolean {
    if (lengthBytes <= 0 || !this.covers(lengthBytes, false)) return false;
    const { bytes } = this.#window();
    return this.#inWindow + lengthBytes <= bytes.length;
  }

  /**
   * The bytes of the range themselves; undefined if it is not readable in one window. The caller
   * must not keep them: after unregistration an access would be a segmentation fault.
   */
  view(lengthBytes: number): Uint8Array | undefined {
    if (!this.isInPlace(lengthBytes)) return undefined;
    return this.#window().views.view(this.#inWindow, lengthBytes);
  }

  /**
   * Copies guest memory into `target`. False if a part is not readable; `target` is then unchanged.
   */
  read(target: Uint8Array, targetOffset: number, lengthBytes: number): boolean {
    if (!this.covers(lengthBytes, false) || !fits(target, targetOffset, lengthBytes)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const window = this.#window();
      const start = this.#inWindow;
      const count = Math.min(lengthBytes - done, window.bytes.length - start);
      loadBytes(target, targetOffset + done, window, start, count);
      done += count;
      this.#address += count;
    }
    return true;
  }

  /**
   * Copies `source` into guest memory. False if a part is not writable; nothing is then written.
   */
  write(source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.covers(lengthBytes, true) || !fits(source, sourceOffset, lengthBytes)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const window = this.#window();
      const start = this.#inWindow;
      const count = Math.min(lengthBytes - done, window.bytes.length - start);
      storeToWindow(window, start, source, sourceOffset + done, count);
      done += count;
      this.#address += count;
    }
    return true;
  }

  /**
   * As `read`, for a few words in host byte order. Address, `targetOffset` and `lengthBytes` are
   * multiples of 4.
   */
  readWords(target: Int32Array, targetOffset: number, lengthBytes: number): boolean {
    const words = this.#wordsOf(lengthBytes, false);
    const count = lengthBytes / 4;
    const to = targetOffset / 4;
    if (words === undefined || to + count > target.length) return this.read(bytesOf(target), targetOffset, lengthBytes);
    const from = this.#inWindow / 4;
    for (let index = 0; index < count; index++) target[to + index] = words[from + index];
    return true;
  }

  /** As `write`, for a few words; see `readWords`. */
  writeWords(source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    const words = this.#wordsOf(lengthBytes, true);
    const count = lengthBytes / 4;
    const from = sourceOffset / 4;
    if (words === undefined || from + count > source.length)
      return this.write(bytesOf(source), sourceOffset, lengthBytes);
    const to = this.#inWindow / 4;
    for (let index = 0; index < count; index++) words[to + index] = source[from + index];
    return true;
  }

  /**
   * Stores words that another processor polls: the last one by itself, behind all others. Address
   * and `lengthBytes` are multiples of 4. False, with nothing stored, also for a range that is
   * accessible but lies in two windows.
   */
  publishWords(source: Int32Array, lengthBytes: number): boolean {
    const words = this.#wordsOf(lengthBytes, true);
    if (words === undefined) return false;
    const last = lengthBytes / 4 - 1;
    const to = this.#inWindow / 4;
    for (let index = 0; index < last; index++) words[to + index] = source[index];
    Atomics.store(words, to + last, source[last]);
    return true;
  }

  /** Fills guest memory with one byte value. */
  fill(byte: number, lengthBytes: number): boolean {
    if (!this.covers(lengthBytes, true)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const { bytes } = this.#window();
      const start = this.#inWindow;
      const count = Math.min(lengthBytes - done, bytes.length - start);
      bytes.fill(byte, start, start + count);
      done += count;
      this.#address += count;
    }
    return true;
  }

  /** One atomic aligned load of 4 bytes, or -1 if the address is unmapped or unaligned. */
  readU32(): number {
    const region = this.#aligned(4, false);
    if (region === undefined) return -1;
    const { words } = this.#window();
    return Atomics.load(words, this.#inWindow / 4);
  }

  /** One atomic aligned store of 4 bytes, ordered after all earlier stores. */
  writeU32(value: number): boolean {
    const region = this.#aligned(4, true);
    if (region === undefined) return false;
    const { words } = this.#window();
    Atomics.store(words, this.#inWindow / 4, value);
    return true;
  }

  /** One atomic aligned load of 8 bytes into `target` (low word first). */
  readU64(target: Uint32Array, targetIndex: number): boolean {
    const region = this.#aligned(8, false);
    if (region === undefined || targetIndex + 2 > target.length) return false;
    const { quads } = this.#window();
    SCRATCH_QUAD[0] = Atomics.load(quads, this.#inWindow / 8);
    target[targetIndex] = SCRATCH[0];
    target[targetIndex + 1] = SCRATCH[1];
    return true;
  }

  /** One atomic aligned store of 8 bytes, ordered after all earlier stores. */
  writeU64(low: number, high: number): boolean {
    const region = this.#aligned(8, true);
    if (region === undefined) return false;
    const { quads } = this.#window();
    SCRATCH[0] = low;
    SCRATCH[1] = high;
    Atomics.store(quads, this.#inWindow / 8, SCRATCH_QUAD[0]);
    return true;
  }

  /**
   * Atomic compare-and-swap of 4 bytes: the old value, or -1 if not readable, writable or aligned.
   */
  compareExchangeU32(expected: number, replacement: number): number {
    const region = this.#aligned(4, true);
    if (region === undefined || !region.readable) return -1;
    const { words } = this.#window();
    return Atomics.compareExchange(words, this.#inWindow / 4, expected >>> 0, replacement >>> 0);
  }

  /** Atomic compare-and-swap of 8 opaque bytes: the old value, or undefined. */
  compareExchangeU64(expected: bigint, replacement: bigint): bigint | undefined {
    const region = this.#aligned(8, true);
    if (region === undefined || !region.readable) return undefined;
    const { quads } = this.#window();
    return Atomics.compareExchange(quads, this.#inWindow / 8, expected, replacement);
  }

  /** Atomic addition modulo 2^64: the old value, or undefined. */
  fetchAddU64(addend: bigint): bigint | undefined {
    const region = this.#aligned(8, true);
    if (region === undefined || !region.readable) return undefined;
    const { quads } = this.#window();
    return Atomics.add(quads, this.#inWindow / 8, addend);
  }

  /**
   * Words of the window that holds the whole range, with the offset of the range in `#inWindow`;
   * undefined if the range is not accessible, unaligned, or in two windows.
   */
  #wordsOf(lengthBytes: number, forWrite: boolean): Uint32Array | undefined {
    const address = this.#address;
    const region = this.#regions[this.#find()];
    if (region === undefined || !(address >= region.address && address + lengthBytes <= region.end)) return undefined;
    if (!(forWrite ? region.writable : region.readable)) return undefined;
    const { words } = this.#window();
    return this.#inWindow % 4 === 0 && this.#inWindow + lengthBytes <= WINDOW_BYTES ? words : undefined;
  }

  #aligned(sizeBytes: number, forWrite: boolean): DmaRegion | undefined {
    const address = this.#address;
    const region = this.#regions[this.#find()];
    if (region === undefined || !(address >= region.address && address + sizeBytes <= region.end)) return undefined;
    if (address % sizeBytes !== 0) return undefined;
    return (forWrite ? region.writable : region.readable) ? region : undefined;
  }

  /**
   * The window that holds the address, which is mapped. Leaves the offset of the address in it in
   * `#inWindow`.
   */
  #window(): Window {
    const region = this.#regions[this.#find()];
    const inRegion = this.#address - region.address;
    // The remainder of two numbers that are not small integers is a call of `fmod`.
    const index = Math.floor(inRegion / WINDOW_BYTES);
    this.#inWindow = inRegion - index * WINDOW_BYTES;
    return region.window(index);
  }

  /**
   * Index of the region that holds the address, or of any other one. Tries the last one found
   * first.
   */
  #find(): number {
    const address = this.#address;
    const last = this.#regions[this.#last];
    if (last !== undefined && address >= last.address && address < last.end) return this.#last;
    this.#last = this.#firstEndingAbove();
    return this.#last;
  }

  /** Index of the region with this address and length, or -1. */
  #indexOf(address: number, sizeBytes: number): number {
    const index = this.at(address).#firstEndingAbove();
    const region = this.#regions[index];
    return region?.address === address && region.sizeBytes === sizeBytes ? index : -1;
  }

  #firstEndingAbove(): number {
    const address = this.#address;
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
