// SPDX-License-Identifier: Apache-2.0
/**
 * A set of transmit virtual lanes (US 8,484,392 par. 51), one bit each. Arbitrator, lane map and
 * owner turns work on such sets, at the same cost for 1 lane and for 128.
 */
import { TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';

const WORD_BITS = 32;
const WORD_SHIFT = 5;
export const LANE_WORDS = TVL_MAX / WORD_BITS;

/** Lanes as 32-bit words; bit 0 of word 0 is lane 0. Missing words are empty. */
export type LaneMask = ArrayLike<number>;

/** Words that hold the lanes 0 to `count` - 1. */
export function wordsOf(count: number): number {
  return Math.ceil(count / WORD_BITS);
}

export class LaneSet {
  readonly words = new Int32Array(LANE_WORDS);
  #last = -1;

  /** The set of lanes 0 to `count` - 1. */
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

  /** True when `set` contains all members. */
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

  clear(): this {
    this.words.fill(0);
    return this;
  }

  unite(mask: LaneMask): this {
    for (let word = 0; word < LANE_WORDS; word++) this.words[word] |= mask[word];
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
   * Ends a round. Lanes with `work` that were not `served` become `passed`; this set becomes those
   * that were `passed` before as well; `served` becomes empty. Returns false when no lane was
   * passed, so that all three are empty. One pass over the first `words` words, because short turns
   * make many rounds.
   */
  takePassed(passed: LaneSet, work: LaneSet, served: LaneSet, words: number): boolean {
    let any = 0;
    for (let word = 0; word < words; word++) {
      const left = work.words[word] & ~served.words[word];
      const twice = left & passed.words[word];
      passed.words[word] = left;
      served.words[word] = 0;
      this.words[word] = twice;
      any |= left;
    }
    return any !== 0;
  }

  /**
   * The first member behind `lane`, wrapping around and ending with `lane` itself; -1 when the set
   * is empty.
   */
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

  /** Returns the members in turn. */
  takeNext(): number {
    this.#last = this.after(this.#last);
    return this.#last;
  }

  /** The first member has the next turn. */
  restart(): void {
    this.#last = -1;
  }
}
