// SPDX-License-Identifier: Apache-2.0
/**
 * Credits of one kind, execution or completion (US 8,484,392 par. 42-44): private ones of each
 * lane, and shared ones for the lanes that may take them. A lane takes its private credits first.
 * Invariants: `used` equals the credits held; it never exceeds the total, even while lanes whose
 * number was reduced still hold more, because a credit stays charged to its source until it is
 * released (hazard 19). Called by `TransmitVirtualLanes` and the arbitrator.
 */
import { TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { CreditSource } from '../collect/credit-hold.ts';
import { LaneSet } from './lane-set.ts';

const NO_LANES = new LaneSet().words;

export class CreditAccounts {
  readonly total: number;
  /** Credits in use, and how many of them are shared ones. */
  used = 0;
  sharedUsed = 0;
  /** The same by function number. */
  readonly functionUsed: Int32Array;
  readonly functionSharedUsed: Int32Array;
  /** By lane: private credits, private credits in use, shared credits in use. */
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

  /** Credits that are private to no lane. */
  get shared(): number {
    return Math.max(0, this.total - this.#privateTotal);
  }

  get sharedFree(): number {
    return Math.min(this.shared - this.sharedUsed, this.total - this.used);
  }

  /** Sets the private credits of a lane. Credits in use above the new number stay in use. */
  set(lane: number, credits: number, mayShare: boolean): void {
    this.#privateTotal += credits - this.private[lane];
    this.private[lane] = credits;
    this.sharers.put(lane, mayShare);
    this.#privateFree.put(lane, this.privateUsed[lane] < credits);
  }

  /** True when the lane can take a credit now. */
  has(lane: number): boolean {
    if (this.used >= this.total) return false;
    return this.#privateFree.has(lane) || (this.sharedFree > 0 && this.sharers.has(lane));
  }

  /** True when the lane can take a credit once other lanes return shared ones. */
  couldHave(lane: number): boolean {
    return this.#privateFree.has(lane) || this.sharers.has(lane);
  }

  /**
   * Sets `into` to the lanes of `lanes` that can take a credit when `reserved` shared ones are kept
   * back. Only the first `words` words of the sets are used.
   */
  narrow(lanes: LaneSet, words: number, reserved: number, into: LaneSet): void {
    const from = lanes.words;
    const to = into.words;
    const sharers = this.sharedFree > reserved ? this.sharers.words : NO_LANES;
    const privateFree = this.used < this.total ? this.#privateFree.words : NO_LANES;
    for (let word = 0; word < words; word++) to[word] = from[word] & (privateFree[word] | sharers[word]);
  }

  /** Takes a credit for the lane; the caller has checked `has`. Returns the source, for `give`. */
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

  /** Returns a credit to its source. NONE has no effect. */
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
