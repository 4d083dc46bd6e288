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

/**
 * Credits of one lane. V8 counts in a field with a quarter of the instructions that an element of a
 * typed array takes, and each command counts some ten times.
 */
class LaneAccount {
  private = 0;
  privateUsed = 0;
  /** Shared credits in use. */
  sharedUsed = 0;
  mayShare = false;

  get hasPrivate(): boolean {
    return this.privateUsed < this.private;
  }
}

/** Credits that a function uses, and how many of them are shared ones. */
class FunctionAccount {
  used = 0;
  sharedUsed = 0;
}

export class CreditAccounts {
  readonly total: number;
  /** Credits in use, and how many of them are shared ones. */
  used = 0;
  sharedUsed = 0;
  /** By function number. */
  readonly functions: readonly FunctionAccount[];
  /** By lane. */
  readonly lanes: readonly LaneAccount[] = Array.from({ length: TVL_MAX }, () => new LaneAccount());
  /** Lanes that may take shared credits, and lanes with private ones that are not in use. */
  readonly #sharers = new LaneSet();
  readonly #privateFree = new LaneSet();
  #privateTotal = 0;

  constructor(total: number, functionCount: number) {
    this.total = total;
    this.functions = Array.from({ length: functionCount }, () => new FunctionAccount());
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
    const account = this.lanes[lane];
    this.#privateTotal += credits - account.private;
    account.private = credits;
    account.mayShare = mayShare;
    this.#sharers.put(lane, mayShare);
    this.#privateFree.put(lane, account.hasPrivate);
  }

  /** True when the lane can take a credit now. */
  has(lane: number): boolean {
    if (this.used >= this.total) return false;
    const account = this.lanes[lane];
    return account.hasPrivate || (account.mayShare && this.sharedFree > 0);
  }

  /** True when the lane can take a credit once other lanes return shared ones. */
  couldHave(lane: number): boolean {
    const account = this.lanes[lane];
    return account.hasPrivate || account.mayShare;
  }

  /**
   * Sets `into` to the lanes of `lanes` that can take a credit when `reserved` shared ones are kept
   * back. Only the first `words` words of the sets are used.
   */
  narrow(lanes: LaneSet, words: number, reserved: number, into: LaneSet): void {
    const from = lanes.words;
    const to = into.words;
    const sharers = this.sharedFree > reserved ? this.#sharers.words : NO_LANES;
    const privateFree = this.used < this.total ? this.#privateFree.words : NO_LANES;
    for (let word = 0; word < words; word++) to[word] = from[word] & (privateFree[word] | sharers[word]);
  }

  /** Takes a credit for the lane; the caller has checked `has`. Returns the source, for `give`. */
  take(lane: number, functionNumber: number): CreditSource {
    const account = this.lanes[lane];
    const user = this.functions[functionNumber];
    this.used++;
    user.used++;
    if (account.hasPrivate) {
      account.privateUsed++;
      if (!account.hasPrivate) this.#privateFree.delete(lane);
      return CreditSource.PRIVATE;
    }
    this.sharedUsed++;
    account.sharedUsed++;
    user.sharedUsed++;
    return CreditSource.SHARED;
  }

  /** Returns a credit to its source. NONE has no effect. */
  give(lane: number, functionNumber: number, source: CreditSource): void {
    if (source === CreditSource.NONE) return;
    const account = this.lanes[lane];
    const user = this.functions[functionNumber];
    this.used--;
    user.used--;
    if (source === CreditSource.PRIVATE) {
      if (account.privateUsed-- === account.private) this.#privateFree.add(lane);
      return;
    }
    this.sharedUsed--;
    account.sharedUsed--;
    user.sharedUsed--;
  }
}
