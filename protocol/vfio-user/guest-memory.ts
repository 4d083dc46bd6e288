// SPDX-License-Identifier: Apache-2.0
/**
 * The only access to guest memory: a sorted table of DMA regions, searched for each access outside
 * the window of the last one. An access takes its address first: `memory.at(address).read(...)`.
 * The address is no argument of the access, because V8 allocates a heap number for an argument of
 * 2^31 or more in each call that it does not inline. If a range is not completely mapped with the
 * needed access right, a method returns false (or -1, or undefined) and touches nothing. Addresses
 * and lengths come from the guest and are untrusted. Accesses take effect at once; the device's
 * host interface decides on their order.
 */
import { DmaRegion, type DmaRegionInfo, NO_WINDOW, WINDOW_BYTES } from './dma-region.ts';
import { copyWords, loadBytes, storeToWindow } from './window-copy.ts';

export class GuestMemory {
  readonly #regions: DmaRegion[] = [];
  /** Address of the next access; NaN at first, so that V8 never lays it out for small integers. */
  #address = Number.NaN;
  /**
   * The window of the last access, the address and number of its bytes, and the rights of its
   * region: most accesses stay in it. No access is in the window of a new or changed table.
   */
  #window = NO_WINDOW;
  #from = Number.NaN;
  #sizeBytes = 0;
  #readable = false;
  #writable = false;
  /** Offset of the address in `#window`, after `#locate`. */
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
    this.#forgetWindow();
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
    this.#forgetWindow();
    return true;
  }

  /** True if all of `lengthBytes` is mapped, and writable if `forWrite`. */
  covers(lengthBytes: number, forWrite: boolean): boolean {
    if (this.#locate(lengthBytes, forWrite)) return true;
    const address = this.#address;
    if (!(lengthBytes >= 0 && address >= 0 && lengthBytes <= Number.MAX_SAFE_INTEGER - address)) return false;
    if (!Number.isInteger(address) || !Number.isInteger(lengthBytes)) return false;
    let at = address;
    const end = address + lengthBytes;
    for (let index = this.#firstEndingAbove(); at < end; index++) {
      const region = this.#regions[index];
      if (region === undefined || region.address > at || region.end <= at) return false;
      if (!(forWrite ? region.writable : region.readable)) return false;
      at = region.end;
    }
    return true;
  }

  /** True when the whole range is readable and lies in one window. */
  isInPlace(lengthBytes: number): boolean {
    return lengthBytes > 0 && this.#locate(lengthBytes, false);
  }

  /**
   * The bytes of the range themselves; undefined if it is not readable in one window. The caller
   * must not keep them: after unregistration an access would be a segmentation fault.
   */
  view(lengthBytes: number): Uint8Array | undefined {
    return this.isInPlace(lengthBytes) ? this.#window.views.view(this.#inWindow, lengthBytes) : undefined;
  }

  /**
   * Copies guest memory into `target`. False if a part is not readable; `target` is then unchanged.
   */
  read(target: Uint8Array, targetOffset: number, lengthBytes: number): boolean {
    if (!fits(target, targetOffset, lengthBytes)) return false;
    if (this.#locate(lengthBytes, false)) {
      loadBytes(target, targetOffset, this.#window, this.#inWindow, lengthBytes);
      return true;
    }
    if (!this.covers(lengthBytes, false)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const count = this.#enterPiece(lengthBytes - done, false);
      loadBytes(target, targetOffset + done, this.#window, this.#inWindow, count);
      done += count;
      this.#address += count;
    }
    return true;
  }

  /**
   * Copies `source` into guest memory. False if a part is not writable; nothing is then written.
   */
  write(source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!fits(source, sourceOffset, lengthBytes)) return false;
    if (this.#locate(lengthBytes, true)) {
      storeToWindow(this.#window, this.#inWindow, source, sourceOffset, lengthBytes);
      return true;
    }
    if (!this.covers(lengthBytes, true)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const count = this.#enterPiece(lengthBytes - done, true);
      storeToWindow(this.#window, this.#inWindow, source, sourceOffset + done, count);
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
    const isWhole = (targetOffset + lengthBytes) >>> 2 <= target.length && this.#locateWords(lengthBytes, false);
    if (!isWhole) return this.read(bytesOf(target), targetOffset, lengthBytes);
    copyWords(this.#window.words, this.#inWindow >>> 2, target, targetOffset >>> 2, lengthBytes >>> 2);
    return true;
  }

  /** As `write`, for a few words; see `readWords`. */
  writeWords(source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    const isWhole = (sourceOffset + lengthBytes) >>> 2 <= source.length && this.#locateWords(lengthBytes, true);
    if (!isWhole) return this.write(bytesOf(source), sourceOffset, lengthBytes);
    copyWords(source, sourceOffset >>> 2, this.#window.words, this.#inWindow >>> 2, lengthBytes >>> 2);
    return true;
  }

  /**
   * Stores words that another processor polls: the last one by itself, behind all others. Address
   * and `lengthBytes` are multiples of 4. False, with nothing stored, also for a range that is
   * accessible but lies in two windows.
   */
  publishWords(source: Int32Array, lengthBytes: number): boolean {
    if (!this.#locateWords(lengthBytes, true)) return false;
    const { words } = this.#window;
    const last = (lengthBytes >>> 2) - 1;
    const to = this.#inWindow >>> 2;
    copyWords(source, 0, words, to, last);
    Atomics.store(words, to + last, source[last]);
    return true;
  }

  /** Fills guest memory with one byte value. */
  fill(byte: number, lengthBytes: number): boolean {
    if (!this.covers(lengthBytes, true)) return false;
    for (let done = 0; done < lengthBytes; ) {
      const count = this.#enterPiece(lengthBytes - done, true);
      this.#window.bytes.fill(byte, this.#inWindow, this.#inWindow + count);
      done += count;
      this.#address += count;
    }
    return true;
  }

  /** One atomic aligned load of 4 bytes, or -1 if the address is unmapped or unaligned. */
  readU32(): number {
    return this.#locateAligned(4, false) ? Atomics.load(this.#window.words, this.#inWindow >>> 2) >>> 0 : -1;
  }

  /** One atomic aligned store of 4 bytes, ordered after all earlier stores. */
  writeU32(value: number): boolean {
    if (!this.#locateAligned(4, true)) return false;
    Atomics.store(this.#window.words, this.#inWindow >>> 2, value | 0);
    return true;
  }

  /** One atomic aligned load of 8 bytes into `target` (low word first). */
  readU64(target: Uint32Array, targetIndex: number): boolean {
    if (!this.#locateAligned(8, false) || targetIndex + 2 > target.length) return false;
    SCRATCH_QUAD[0] = Atomics.load(this.#window.quads, this.#inWindow >>> 3);
    target[targetIndex] = SCRATCH[0];
    target[targetIndex + 1] = SCRATCH[1];
    return true;
  }

  /** One atomic aligned store of 8 bytes, ordered after all earlier stores. */
  writeU64(low: number, high: number): boolean {
    if (!this.#locateAligned(8, true)) return false;
    SCRATCH[0] = low;
    SCRATCH[1] = high;
    Atomics.store(this.#window.quads, this.#inWindow >>> 3, SCRATCH_QUAD[0]);
    return true;
  }

  /**
   * Atomic compare-and-swap of 4 bytes: the old value, or -1 if not readable, writable or aligned.
   */
  compareExchangeU32(expected: number, replacement: number): number {
    if (!this.#locateAligned(4, true) || !this.#readable) return -1;
    return Atomics.compareExchange(this.#window.words, this.#inWindow >>> 2, expected | 0, replacement | 0) >>> 0;
  }

  /** Atomic compare-and-swap of 8 opaque bytes: the old value, or undefined. */
  compareExchangeU64(expected: bigint, replacement: bigint): bigint | undefined {
    if (!this.#locateAligned(8, true) || !this.#readable) return undefined;
    return Atomics.compareExchange(this.#window.quads, this.#inWindow >>> 3, expected, replacement);
  }

  /** Atomic addition modulo 2^64: the old value, or undefined. */
  fetchAddU64(addend: bigint): bigint | undefined {
    if (!this.#locateAligned(8, true) || !this.#readable) return undefined;
    return Atomics.add(this.#window.quads, this.#inWindow >>> 3, addend);
  }

  /** As `#locate`, for a range of whole words. */
  #locateWords(lengthBytes: number, forWrite: boolean): boolean {
    return this.#locate(lengthBytes, forWrite) && ((this.#inWindow | lengthBytes) & 3) === 0;
  }

  /** As `#locate`, for `sizeBytes` bytes at a multiple of `sizeBytes`, which is a power of two. */
  #locateAligned(sizeBytes: number, forWrite: boolean): boolean {
    return this.#locate(sizeBytes, forWrite) && (this.#inWindow & (sizeBytes - 1)) === 0;
  }

  /**
   * True if the whole range is accessible and lies in one window, which is then `#window` with the
   * offset `#inWindow`.
   */
  #locate(lengthBytes: number, forWrite: boolean): boolean {
    let inWindow = this.#address - this.#from;
    if (!(inWindow >= 0 && inWindow + lengthBytes <= this.#sizeBytes)) {
      if (!this.#enterWindow()) return false;
      inWindow = this.#address - this.#from;
      if (inWindow + lengthBytes > this.#sizeBytes) return false;
    }
    // Windows are short of 2^31 bytes: what is no small integer here is no whole number of bytes.
    this.#inWindow = inWindow | 0;
    if (this.#inWindow !== inWindow || (lengthBytes | 0) !== lengthBytes || lengthBytes < 0) return false;
    return forWrite ? this.#writable : this.#readable;
  }

  /** Makes the window that holds the address `#window`. False if it is not mapped. */
  #enterWindow(): boolean {
    const region = this.#regions[this.#firstEndingAbove()];
    if (region === undefined || !(this.#address >= region.address) || !region.mapped) return false;
    // The remainder of two numbers that are not small integers is a call of `fmod`.
    const index = Math.floor((this.#address - region.address) / WINDOW_BYTES);
    this.#window = region.window(index);
    this.#from = region.address + index * WINDOW_BYTES;
    this.#sizeBytes = this.#window.bytes.length;
    this.#readable = region.readable;
    this.#writable = region.writable;
    return true;
  }

  /** Locates the address. Returns how many of `lengthBytes`, all accessible, its window has. */
  #enterPiece(lengthBytes: number, forWrite: boolean): number {
    this.#locate(1, forWrite);
    return Math.min(lengthBytes, this.#sizeBytes - this.#inWindow);
  }

  /** The memory of a window is unmapped together with its region. */
  #forgetWindow(): void {
    this.#window = NO_WINDOW;
    this.#from = Number.NaN;
    this.#sizeBytes = 0;
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
