// SPDX-License-Identifier: Apache-2.0
/**
 * Lists of memory keys: pages (MTT), and pieces of other keys (KLM, KSM). They stay in the device,
 * and take memory as far as software has filled them. `MemoryKey` looks addresses up in them.
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import {
  getKlmAddressHigh,
  getKlmAddressLow,
  getKlmByteCount,
  getKlmMkey,
  KLM_SIZE,
} from '../../../../protocol/mlx5/gen/klm.gen.ts';
import { getMttAddressHigh, getMttAddressLow, MTT_SIZE } from '../../../../protocol/mlx5/gen/mtt.gen.ts';
import { foldHigh } from '../../../hca/protection/virtual-address.ts';
import { OCTOWORD_BYTES } from './key-attributes.ts';

const PAGES_PER_OCTOWORD = OCTOWORD_BYTES / MTT_SIZE;
/** Address of a page that software has not given. */
const ABSENT = -1;
/** Unit of the low dword of an address in a list of pages. */
const ADDRESS_UNIT = 8;

const NO_NUMBERS = new Float64Array(0);
const NO_KEYS = new Uint32Array(0);

/** An address that a lookup reads and replaces; see `AddressRegister`. */
export interface Cursor {
  readonly address: number;
  at(address: number): unknown;
}

/** What both kinds of lists have. Lengths and offsets count octowords. */
export interface KeyList {
  /** Octowords that there is memory for. */
  readonly octowords: number;
  /** Makes room for a longer list; what it has stays. */
  grow(octowords: number): void;
  /** Takes octowords from `at` of `view` on; there is room for them. */
  write(view: DataView, at: number, octowords: number, offset: number): void;
}

export class PageTable implements KeyList {
  #pages = NO_NUMBERS;

  get octowords(): number {
    return this.#pages.length / PAGES_PER_OCTOWORD;
  }

  grow(octowords: number): void {
    const pages = new Float64Array(octowords * PAGES_PER_OCTOWORD).fill(ABSENT);
    pages.set(this.#pages);
    this.#pages = pages;
  }

  write(view: DataView, at: number, octowords: number, offset: number): void {
    const first = offset * PAGES_PER_OCTOWORD;
    for (let index = 0; index < octowords * PAGES_PER_OCTOWORD; index++) {
      const entry = at + index * MTT_SIZE;
      const low = getMttAddressLow(view, entry) * ADDRESS_UNIT;
      this.#pages[first + index] = joinDwords(low, getMttAddressHigh(view, entry));
    }
  }

  /** Moves the cursor to `offset` bytes in a page. Returns false when there is no such page. */
  enter(cursor: Cursor, page: number, offset: number): boolean {
    if (page >= this.#pages.length || this.#pages[page] === ABSENT) return false;
    cursor.at(this.#pages[page] + offset);
    return true;
  }
}

export class PieceTable implements KeyList {
  /** The key of the piece that was entered last. */
  key = 0;
  #keys = NO_KEYS;
  #addresses = NO_NUMBERS;
  #lengths = NO_KEYS;
  /** Bytes of the list up to the end of each piece. */
  #ends = NO_NUMBERS;
  #isSummed = true;

  get octowords(): number {
    return this.#keys.length;
  }

  grow(octowords: number): void {
    this.#keys = copyInto(new Uint32Array(octowords), this.#keys);
    this.#lengths = copyInto(new Uint32Array(octowords), this.#lengths);
    this.#addresses = copyInto(new Float64Array(octowords), this.#addresses);
    this.#ends = new Float64Array(octowords);
    this.#isSummed = false;
  }

  write(view: DataView, at: number, octowords: number, offset: number): void {
    for (let index = 0; index < octowords; index++) {
      const entry = at + index * KLM_SIZE;
      this.#keys[offset + index] = getKlmMkey(view, entry);
      this.#lengths[offset + index] = getKlmByteCount(view, entry);
      this.#addresses[offset + index] = joinDwords(
        getKlmAddressLow(view, entry),
        foldHigh(getKlmAddressHigh(view, entry)),
      );
    }
    this.#isSummed = false;
  }

  /** Moves the cursor to `offset` bytes in a piece. Returns false when there is no such piece. */
  enter(cursor: Cursor, piece: number, offset: number): boolean {
    if (piece >= this.#keys.length) return false;
    this.key = this.#keys[piece];
    cursor.at(this.#addresses[piece] + offset);
    return true;
  }

  /**
   * Moves the cursor from an offset in the whole list to the address in a piece. Returns the bytes
   * from there to the end of the piece; 0 when the list is shorter.
   */
  find(cursor: Cursor): number {
    if (!this.#isSummed) this.#sum();
    const offset = cursor.address;
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle] > offset) high = middle;
      else low = middle + 1;
    }
    if (low === this.#ends.length) return 0;
    const left = this.#ends[low] - offset;
    this.enter(cursor, low, this.#lengths[low] - left);
    return left;
  }

  #sum(): void {
    let end = 0;
    for (let index = 0; index < this.#ends.length; index++) {
      end += this.#lengths[index];
      this.#ends[index] = end;
    }
    this.#isSummed = true;
  }
}

function copyInto<T extends Uint32Array | Float64Array>(target: T, source: T): T {
  target.set(source);
  return target;
}
