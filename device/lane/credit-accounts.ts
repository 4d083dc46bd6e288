// SPDX-License-Identifier: Apache-2.0
/**
 * Credits of one kind, execution or completion (US8484392: execution and completion credit CSRs): those private to each lane, and those shared by the lanes
 * that may. A lane takes its private ones first. Invariants: used = what is held; used never exceeds the total, not even while lanes that were cut
 * down still use more than they have: what is used stays charged where it came from.
 */
import { TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import { CreditSource } from '../collect/credit-hold.ts';
import { LaneSet } from './lane-set.ts';

const NO_LANES = new LaneSet().words;

export class CreditAccounts {
  readonly total: number;
  /** Credits in use; of these, shared ones. */
  used = 0;
  sharedUsed = 0;
  /** The same by function. */
  readonly functionUsed: Int32Array;
  readonly functionSharedUsed: Int32Array;
  /** By lane: private credits, how many of them are in use, shared ones in use. */
  readonly private = new Int32Array(TVL_MAX);
  readonly privateUsed = new Int32Array(TVL_MAX);
  readonly laneSharedUsed = new Int32Array(TVL_MAX);
  /** Lanes that may take shared credits. */
  readonly sharers = new LaneSet();
  readonly #privateFree = new LaneSet();
  #privateTotal = 0;

  constructor(total: number, functionCount: number) {
    this.total = total;
    this.functionUsed = new Int32Array(functionCount);
    this.functionSharedUsed = new Int32Array(functionCount);
  }

  /** Credits that belong to no lane. */
  get shared(): number {
    return Math.max(0, this.total - this.#privateTotal);
  }

  get sharedFree(): number {
    return Math.min(this.shared - this.sharedUsed, this.total - this.used);
  }

  set(lane: number, credits: number, mayShare: boolean): void {
    this.#privateTotal += credits - this.private[lane];
    this.private[lane] = credits;
    this.sharers.put(lane, mayShare);
    this.#privateFree.put(lane, this.privateUsed[lane] < credits);
  }

  /** The lane could take a credit now. */
  has(lane: number): boolean {
    if (this.used >= this.total) return false;
    return this.#privateFree.has(lane) || (this.sharedFree > 0 && this.sharers.has(lane));
  }

  /** Only credits that others give back are between the lane and a credit: those it may share. */
  couldHave(lane: number): boolean {
    return this.#privateFree.has(lane) || this.sharers.has(lane);
  }

  /** Puts those of `lanes` into `into` that have a credit, if `reserved` shared ones are left alone. `words`: of the sets, those with lanes that exist. */
  narrow(lanes: LaneSet, words: number, reserved: number, into: LaneSet): void {
    const from = lanes.words;
    const to = into.words;
    const sharers = this.sharedFree > reserved ? this.sharers.words : NO_LANES;
    const privateFree = this.used < this.total ? this.#privateFree.words : NO_LANES;
    for (let word = 0; word < words; word++) to[word] = from[word] & (privateFree[word] | sharers[word]);
  }

  /** Takes a credit that `has` promised. */
  take(lane: number, functionNumber: number): CreditSource {
    this.used++;
    this.functionUsed[functionNumber]++;
    if (this.#privateFree.has(lane)) {
      if (++this.privateUsed[lane] === this.private[lane]) this.#privateFree.delete(lane);
      return CreditSource.PRIVATE;
    }
    this.sharedUsed++;
    this.laneSharedUsed[lane]++;
    this.functionSharedUsed[functionNumber]++;
    return CreditSource.SHARED;
  }

  give(lane: number, functionNumber: number, source: CreditSource): void {
    if (source === CreditSource.NONE) return;
    this.used--;
    this.functionUsed[functionNumber]--;
    if (source === CreditSource.PRIVATE) {
      if (this.privateUsed[lane]-- === this.private[lane]) this.#privateFree.add(lane);
      return;
    }
    this.sharedUsed--;
    this.laneSharedUsed[lane]--;
    this.functionSharedUsed[functionNumber]--;
  }
}
