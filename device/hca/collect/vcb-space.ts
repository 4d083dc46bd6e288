// SPDX-License-Identifier: Apache-2.0
/**
 * VCB numbers of the adapter and their assignment to functions (US 8,484,392 par. 57-60, 70-71). A
 * function has one run of numbers; page p of its collect BAR is VCB base + p. The run moves and
 * changes its length while commands are being collected. A number stays with the page that took it
 * until that page is free again: no VCB ever collects two commands, and none is lost.
 */
import { PAGE_BYTES, VCB_MAX } from '../../../protocol/layout/gen/constants.gen.ts';

/** The runs of the functions, and the numbers that are taken. */
export class VcbSpace {
  readonly size: number;
  readonly #bases: Int32Array;
  readonly #counts: Int32Array;
  /** Count of numbers that a function holds outside its run. */
  readonly #reserved: Int32Array;
  /** Function that collects a command under each number, plus one; 0: none. */
  readonly #holders: Uint8Array;

  /** Gives every function `count` numbers, one function after the other. */
  constructor(functionCount: number, count: number, size = VCB_MAX) {
    this.size = size;
    this.#bases = Int32Array.from({ length: functionCount }, (_, functionNumber) => functionNumber * count);
    this.#counts = new Int32Array(functionCount).fill(count);
    this.#reserved = new Int32Array(functionCount);
    this.#holders = new Uint8Array(size);
  }

  getBase(functionNumber: number): number {
    return this.#bases[functionNumber];
  }

  getCount(functionNumber: number): number {
    return this.#counts[functionNumber];
  }

  /** Address behind the function's last VCB. VCB n is at n times the size of a page. */
  getEndAddress(functionNumber: number): number {
    return (this.#bases[functionNumber] + this.#counts[functionNumber]) * PAGE_BYTES;
  }

  /** The function's sub-BAR: address of its first VCB from `divider` on, or its end (par. 58). */
  getLevelAddress(functionNumber: number, divider: number): number {
    const end = this.getEndAddress(functionNumber);
    return Math.min((this.#bases[functionNumber] + Math.ceil(divider / PAGE_BYTES)) * PAGE_BYTES, end);
  }

  /**
   * Count of numbers outside the function's run under which its commands are still being collected.
   */
  getReserved(functionNumber: number): number {
    return this.#reserved[functionNumber];
  }

  /** Count of numbers that were given to no function. */
  get unallocated(): number {
    return this.size - this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** True when another function still holds a number in the range. */
  isHeldByOther(functionNumber: number, base: number, count: number): boolean {
    for (let vcb = base; vcb < base + count; vcb++) {
      const holder = this.#holders[vcb];
      if (holder !== 0 && holder !== functionNumber + 1) return true;
    }
    return false;
  }

  /** Moves a function's run. The caller makes sure that it overlaps no other run. */
  place(functionNumber: number, base: number, count: number): void {
    this.#bases[functionNumber] = base;
    this.#counts[functionNumber] = count;
    let outside = 0;
    for (let vcb = 0; vcb < this.size; vcb++)
      if (this.#holders[vcb] === functionNumber + 1 && !this.#isInside(functionNumber, vcb)) outside++;
    this.#reserved[functionNumber] = outside;
  }

  /**
   * Takes the number of a page of the function. Returns -1 while the number is held from before a
   * move.
   */
  take(functionNumber: number, page: number): number {
    const vcb = this.#bases[functionNumber] + page;
    if (this.#holders[vcb] !== 0) return -1;
    this.#holders[vcb] = functionNumber + 1;
    return vcb;
  }

  /** Returns a taken number. */
  free(functionNumber: number, vcb: number): void {
    this.#holders[vcb] = 0;
    if (!this.#isInside(functionNumber, vcb)) this.#reserved[functionNumber]--;
  }

  #isInside(functionNumber: number, vcb: number): boolean {
    const base = this.#bases[functionNumber];
    return vcb >= base && vcb < base + this.#counts[functionNumber];
  }
}
