// SPDX-License-Identifier: Apache-2.0
/**
 * The VCB numbers of the adapter and who has which (US8484392: BAR). A function has one run of numbers; page p of its collect BAR is VCB base + p. The
 * run moves and changes its length while commands are being collected: a number stays with the page that took it until that page is free again, so
 * that no VCB is ever collecting two commands and none is lost.
 */
import { VCB_MAX } from '../../protocol/layout/gen/constants.gen.ts';

/** Runs of VCBs of the functions, and the numbers that are taken. */
export class VcbSpace {
  readonly size: number;
  readonly #bases: Int32Array;
  readonly #counts: Int32Array;
  /** Numbers a function holds outside its run. */
  readonly #reserved: Int32Array;
  /** Function that collects a command under the number, plus one; 0: none. */
  readonly #holders: Uint8Array;

  /** Every function gets `count` numbers, one function after the other. */
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

  /** Numbers outside the function's run on which its commands are still being collected. */
  getReserved(functionNumber: number): number {
    return this.#reserved[functionNumber];
  }

  /** Numbers no function was given. */
  get unallocated(): number {
    return this.size - this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** A number of the range is still held by another function. */
  isHeldByOther(functionNumber: number, base: number, count: number): boolean {
    for (let vcb = base; vcb < base + count; vcb++) {
      const holder = this.#holders[vcb];
      if (holder !== 0 && holder !== functionNumber + 1) return true;
    }
    return false;
  }

  /** Moves a function's run. The caller sees to it that it overlaps no other. */
  place(functionNumber: number, base: number, count: number): void {
    this.#bases[functionNumber] = base;
    this.#counts[functionNumber] = count;
    let outside = 0;
    for (let vcb = 0; vcb < this.size; vcb++)
      if (this.#holders[vcb] === functionNumber + 1 && !this.#isInside(functionNumber, vcb)) outside++;
    this.#reserved[functionNumber] = outside;
  }

  /** Takes the number of a page of the function; -1 while it is still held from before a move. */
  take(functionNumber: number, page: number): number {
    const vcb = this.#bases[functionNumber] + page;
    if (this.#holders[vcb] !== 0) return -1;
    this.#holders[vcb] = functionNumber + 1;
    return vcb;
  }

  /** Gives a taken number back. */
  free(functionNumber: number, vcb: number): void {
    this.#holders[vcb] = 0;
    if (!this.#isInside(functionNumber, vcb)) this.#reserved[functionNumber]--;
  }

  #isInside(functionNumber: number, vcb: number): boolean {
    const base = this.#bases[functionNumber];
    return vcb >= base && vcb < base + this.#counts[functionNumber];
  }
}
