// SPDX-License-Identifier: Apache-2.0
/**
 * The posted writes of one function between its port and memory. They land late and in pieces, in the order of issue or, when relaxed, in any order that PCIe
 * allows a requester which sets relaxed ordering on bodies and payload (PCIe base specification, table of ordering rules): a strict write passes nothing; a relaxed one may pass
 * others, never one of the same bytes. What is strict is what software polls on: validity words, credit words, summary bytes.
 */
import type { Random } from '../../random.ts';

interface PostedWrite {
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly strict: boolean;
  /** Turn of `land` in which it must have landed at the latest. */
  readonly deadline: number;
}

/** Longest store that is visible as a whole. */
const STRICT_BYTES = 8;
/** Sizes of the pieces in which a longer one lands; a piece that would end between two dwords does not exist. */
const PIECE_BYTES = [4, 8, 16, 32, 64, 256] as const;
/** Turns a write waits at most, writes that land in one turn at most (one of these, by the seed), and how far ahead a relaxed one is looked for. */
const TURNS_MAX = 48;
const LANDINGS_MAX = [1, 3, 8] as const;
const REACH = 16;
/** A function whose writes outrun memory that far waits for it. */
const CAPACITY = 4096;

export class PostedWrites {
  readonly #write: (address: number, bytes: Uint8Array) => void;
  readonly #random: Random;
  readonly #relaxed: boolean;
  readonly #waiting: PostedWrite[] = [];
  readonly #landingsMax: number;
  #turn = 0;

  /** `write` puts a piece into memory. */
  constructor(write: (address: number, bytes: Uint8Array) => void, random: Random, relaxed: boolean) {
    this.#write = write;
    this.#random = random;
    this.#relaxed = relaxed;
    this.#landingsMax = random.pick(LANDINGS_MAX);
  }

  /** Pieces that have not landed. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Takes a copy of a write. Up to 8 bytes are one strict store; more of them land piece by piece. */
  post(address: number, source: Uint8Array, offset: number, lengthBytes: number): void {
    if (lengthBytes <= STRICT_BYTES) return this.#push(address, source, offset, lengthBytes, true);
    for (let done = 0; done < lengthBytes; ) {
      const size = Math.min(this.#random.pick(PIECE_BYTES), lengthBytes - done);
      this.#push(address + done, source, offset + done, size, false);
      done += size;
    }
  }

  /** One turn: some writes land, and all that have waited long enough. */
  land(): void {
    this.#turn++;
    let left = this.#random.below(this.#landingsMax + 1);
    while (this.#waiting.length > 0 && (left > 0 || this.#waiting[0].deadline <= this.#turn)) {
      this.#landOne(this.#relaxed && left > 0 ? this.#pick() : 0);
      left--;
    }
  }

  /** Everything lands, in the order of issue: what a completion pushes ahead of it. */
  flush(): void {
    while (this.#waiting.length > 0) this.#landOne(0);
  }

  #push(address: number, source: Uint8Array, offset: number, lengthBytes: number, strict: boolean): void {
    if (this.#waiting.length >= CAPACITY) this.#landOne(0);
    const bytes = source.slice(offset, offset + lengthBytes);
    this.#waiting.push({ address, bytes, strict, deadline: this.#turn + TURNS_MAX });
  }

  /** A write that may land next: the oldest, or a relaxed one that passes none of its own bytes. */
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
