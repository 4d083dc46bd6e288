// SPDX-License-Identifier: Apache-2.0
/**
 * The posted writes of one function between its port and memory. They land late and in pieces, in
 * the order of issue; when relaxed, in any order that PCIe allows for requests with relaxed
 * ordering on bodies and payload (PCI Express base specification, table of ordering rules). A
 * strict write passes no other; a relaxed one passes others, but not one of the same bytes. Stores
 * that software polls are strict: validity words, credit words, summary bytes. Used by
 * `OrderingModel`.
 */
import type { Random } from '../../random.ts';

interface PostedWrite {
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly strict: boolean;
  /** Last turn of `land` in which it lands. */
  readonly deadline: number;
}

/** Longest store that is visible as a whole. */
const STRICT_BYTES = 8;
/** Sizes of the pieces of a longer write; pieces end at dwords. */
const PIECE_BYTES = [4, 8, 16, 32, 64, 256] as const;
/** Turns that a write waits at most. */
const TURNS_MAX = 48;
/** Writes that land in one turn at most, one of these by the seed. */
const LANDINGS_MAX = [1, 3, 8] as const;
/** Number of writes among which a relaxed one is chosen. */
const REACH = 16;
/** Waiting pieces at most; more are landed at once. */
const CAPACITY = 4096;

/** The writes of one function. */
export class PostedWrites {
  readonly #write: (address: number, bytes: Uint8Array) => void;
  readonly #random: Random;
  readonly #relaxed: boolean;
  readonly #waiting: PostedWrite[] = [];
  readonly #landingsMax: number;
  #turn = 0;

  /** `write` stores a piece in memory. */
  constructor(write: (address: number, bytes: Uint8Array) => void, random: Random, relaxed: boolean) {
    this.#write = write;
    this.#random = random;
    this.#relaxed = relaxed;
    this.#landingsMax = random.pick(LANDINGS_MAX);
  }

  /** Number of pieces that have not landed. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Copies a write. Up to 8 bytes are one strict store; more land piece by piece. */
  post(address: number, source: Uint8Array, offset: number, lengthBytes: number): void {
    if (lengthBytes <= STRICT_BYTES) return this.#push(address, source, offset, lengthBytes, true);
    for (let done = 0; done < lengthBytes; ) {
      const size = Math.min(this.#random.pick(PIECE_BYTES), lengthBytes - done);
      this.#push(address + done, source, offset + done, size, false);
      done += size;
    }
  }

  /** One turn: some writes land, and all whose deadline has come. */
  land(): void {
    this.#turn++;
    let left = this.#random.below(this.#landingsMax + 1);
    while (this.#waiting.length > 0 && (left > 0 || this.#waiting[0].deadline <= this.#turn)) {
      this.#landOne(this.#relaxed && left > 0 ? this.#pick() : 0);
      left--;
    }
  }

  /** Lands all writes in the order of issue, ahead of a completion. */
  flush(): void {
    while (this.#waiting.length > 0) this.#landOne(0);
  }

  #push(address: number, source: Uint8Array, offset: number, lengthBytes: number, strict: boolean): void {
    if (this.#waiting.length >= CAPACITY) this.#landOne(0);
    const bytes = source.slice(offset, offset + lengthBytes);
    this.#waiting.push({ address, bytes, strict, deadline: this.#turn + TURNS_MAX });
  }

  /**
   * Index of a write that may land next: the oldest, or a relaxed one without overlap before it.
   */
  #pick(): number {
    const index = this.#random.below(Math.min(this.#waiting.length, REACH));
    const write = this.#waiting[index];
    if (write.strict) return 0;
    for (let before = 0; before < index; before++) if (overlap(this.#waiting[before], write)) return 0;
    return index;
  }

  #landOne(index: number): void {
    const [{ address, bytes }] = this.#waiting.splice(index, 1);
    this.#write(address, bytes);
  }
}

function overlap(left: PostedWrite, right: PostedWrite): boolean {
  return left.address < right.address + right.bytes.length && right.address < left.address + left.bytes.length;
}
