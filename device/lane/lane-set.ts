// SPDX-License-Identifier: Apache-2.0
/** A set of transmit virtual lanes, one bit each: what the arbitrator and the lane map reckon with, at the same cost for 1 lane and for 128. */
import { TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';

const WORD_BITS = 32;
const WORD_SHIFT = 5;
export const LANE_WORDS = TVL_MAX / WORD_BITS;

/** Lanes as 32-bit words, bit 0 of the first one is lane 0. */
export type LaneMask = ArrayLike<number>;

/** Words of a set that the lanes 0 to `count` - 1 need. */
export function wordsOf(count: number): number {
  return Math.ceil(count / WORD_BITS);
}

export class LaneSet {
  readonly words = new Int32Array(LANE_WORDS);
  #last = -1;

  /** A set of the lanes 0 to `count` - 1. */
  static first(count: number): LaneSet {
    const set = new LaneSet();
    for (let lane = 0; lane < count; lane++) set.add(lane);
    return set;
  }

  add(lane: number): void {
    this.words[lane >>> WORD_SHIFT] |= 1 << lane;
  }

  delete(lane: number): void {
    this.words[lane >>> WORD_SHIFT] &= ~(1 << lane);
  }

  put(lane: number, member: boolean): void {
    if (member) this.add(lane);
    else this.delete(lane);
  }

  has(lane: number): boolean {
    return lane >= 0 && (this.words[lane >>> WORD_SHIFT] & (1 << lane)) !== 0;
  }

  get isEmpty(): boolean {
    for (let word = 0; word < LANE_WORDS; word++) if (this.words[word] !== 0) return false;
    return true;
  }

  /** All members are in `set`. */
  isWithin({ words }: LaneSet): boolean {
    for (let word = 0; word < LANE_WORDS; word++) if ((this.words[word] & ~words[word]) !== 0) return false;
    return true;
  }

  get size(): number {
    let size = 0;
    for (const word of this.words) for (let rest = word; rest !== 0; rest &= rest - 1) size++;
    return size;
  }

  assign(mask: LaneMask): this {
    for (let word = 0; word < LANE_WORDS; word++) this.words[word] = mask[word] ?? 0;
    return this;
  }

  intersect(mask: LaneMask): this {
    for (let word = 0; word < LANE_WORDS; word++) this.words[word] &= mask[word];
    return this;
  }

  subtract(mask: LaneMask): this {
    for (let word = 0; word < LANE_WORDS; word++) this.words[word] &= ~mask[word];
    return this;
  }

  /**
   * Ends a round: lanes with `work` that were not `served` become those `passed` over, and this set those that were in the round before as well. `served` is
   * empty afterwards. False when this set is. In one go, because short turns make many rounds; over the first `words` words only.
   */
  takePassed(passed: LaneSet, work: LaneSet, served: LaneSet, words: number): boolean {
    let any = 0;
    for (let word = 0; word < words; word++) {
      const left = work.words[word] & ~served.words[word];
      const twice = left & passed.words[word];
      passed.words[word] = left;
      served.words[word] = 0;
      this.words[word] = twice;
      any |= twice;
    }
    return any !== 0;
  }

  /** The first member behind `lane`, going round and ending with `lane` itself; -1 when there is none. */
  after(lane: number): number {
    const from = (lane + 1) & (TVL_MAX - 1);
    let word = from >>> WORD_SHIFT;
    let bits = this.words[word] & (-1 << (from & (WORD_BITS - 1)));
    for (let tried = 0; tried <= LANE_WORDS; tried++) {
      if (bits !== 0) return (word << WORD_SHIFT) + 31 - Math.clz32(bits & -bits);
      word = (word + 1) & (LANE_WORDS - 1);
      bits = this.words[word];
    }
    return -1;
  }

  /** Members in turn. */
  takeNext(): number {
    this.#last = this.after(this.#last);
    return this.#last;
  }
}
