// SPDX-License-Identifier: Apache-2.0
/**
 * Weighted fair queueing of lane owners (start-time fair queueing; Goyal, Vin and Cheng, 1996;
 * docs/DOCUMENTS.md decision 13). Each owner has an account: bytes served, divided by the owner's
 * weight. The owner with the smallest account is served next. An owner's weight is the sum over all
 * its lanes, busy or idle, so spreading queue pairs over more lanes gains nothing. Lanes without an
 * owner count as one owner. The arbitrator (launches) and `PacketTurns` (packets of each port)
 * charge the same accounts. Owners are function numbers.
 */
import { LARGEST_MTU_BYTES } from '../../../protocol/infiniband/mtu.ts';
import { FUNCTION_MAX, TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';

/**
 * The tariff (docs/ARCHITECTURE.md, Shares of time): cost of a command, and of a packet beside its
 * payload, as the payload bytes moved in the same time. Rounded from measurements of RC WRITEs of
 * 64 bytes to 64 KiB.
 */
export const COMMAND_COST_BYTES = 4096;
export const PACKET_COST_BYTES = 2048;
/**
 * A turn continues until the account is so far beyond that of the next owner, so that short packets
 * do not need a choice each. Shares do not depend on it.
 */
const TURN_BYTES = 4096;
/**
 * Launches, and packets of connections, per pass of the adapter while several functions have
 * commands. Buffers of owners are refilled between passes only, and an owner must not run out of
 * filled buffers within a pass: other owners would then use its share. With few functions each owns
 * more than eight buffers; with many, not all have a turn in each pass.
 */
export const CONTENDED_TURN = 8;
/** The most that other owners can be served within a pass. */
const LAG_BYTES = CONTENDED_TURN * (COMMAND_COST_BYTES + PACKET_COST_BYTES + LARGEST_MTU_BYTES);
const NO_OWNER = FUNCTION_MAX;
const ALL = LaneSet.first(TVL_MAX).words;

/** Lanes by owner, and the owners' weights. `TransmitVirtualLanes` recomputes it on each change. */
export class LaneOwners {
  /** True when all lanes have the same owner, so no turns are needed. */
  single = true;
  /** Sum of the lanes' weights by owner, as a multiple of the lightest owner's. */
  readonly weights = new Float64Array(FUNCTION_MAX + 1);
  /** Owner by lane; NO_OWNER when no function owns it. */
  readonly owners = new Uint8Array(TVL_MAX).fill(NO_OWNER);
  /** Lanes by owner. */
  readonly lanes: readonly LaneSet[] = Array.from({ length: FUNCTION_MAX + 1 }, () => new LaneSet());

  /** `getOwner` returns the number of the function that owns a lane, or a negative number. */
  recompute(lanes: readonly Lane[], getOwner: (lane: number) => number): void {
    this.weights.fill(0);
    for (const set of this.lanes) set.subtract(ALL);
    for (const { number, weight } of lanes) {
      const owner = getOwner(number);
      this.owners[number] = owner < 0 ? NO_OWNER : owner;
      this.lanes[this.owners[number]].add(number);
      this.weights[this.owners[number]] += weight;
    }
    let lightest = Number.POSITIVE_INFINITY;
    for (const weight of this.weights) if (weight > 0) lightest = Math.min(lightest, weight);
    for (let owner = 0; owner <= NO_OWNER; owner++) this.weights[owner] /= lightest;
    this.single = this.owners.subarray(0, lanes.length).every((owner) => owner === this.owners[0]);
  }
}

/**
 * Why shares hold: the chosen account is never above that of another waiting owner, and a turn adds
 * at most TURN_BYTES or one packet to it. So two owners that always have work are never further
 * apart than that, divided by their weights, for any duration and size of messages. `#clock` is the
 * account served last. An owner that had no work is at most LAG_BYTES behind it: enough to catch up
 * on turns missed while its buffers were refilled, too little to save up turns while idle.
 *
 * The cost is proportional to the number of waiting owners.
 */
export class OwnerTurns {
  readonly groups: LaneOwners;
  /** Bytes served by owner, divided by the owner's weight. */
  readonly #accounts = new Float64Array(FUNCTION_MAX + 1);
  readonly #rest = new LaneSet();
  readonly #chosen = new LaneSet();
  /** 1 for each owner charged for a lane since `beginPass`. */
  readonly #recent = new Uint8Array(FUNCTION_MAX + 1);
  #someRecent = false;
  #clock = 0;
  /** The lane charged last. Among equal accounts the owner of the next lane behind it is chosen. */
  #lane = 0;
  /** The function charged last of those that share an account. */
  #lastShared = 0;
  #allowance = Number.POSITIVE_INFINITY;

  constructor(groups: LaneOwners) {
    this.groups = groups;
  }

  /**
   * The lanes of `lanes`, a set that is not empty, whose owner is to be served. The result is
   * reused by the next call.
   */
  choose(lanes: LaneSet): LaneSet {
    const { single, owners, lanes: sets, weights } = this.groups;
    if (single) return lanes;
    const rest = this.#rest.assign(lanes.words);
    let chosen = NO_OWNER;
    let least = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (let lane = rest.after(this.#lane); lane >= 0; lane = rest.after(lane)) {
      const owner = owners[lane];
      rest.subtract(sets[owner].words);
      this.#catchUp(owner);
      const account = this.#accounts[owner];
      if (account < least) {
        next = least;
        least = account;
        chosen = owner;
      } else if (account < next) next = account;
    }
    if (least > this.#clock) this.#clock = least;
    this.#allowance = (next - least) * weights[chosen] + TURN_BYTES;
    return this.#chosen.assign(lanes.words).intersect(sets[chosen].words);
  }

  /** Bytes that the chosen owner's turn may cost. */
  get allowance(): number {
    return this.groups.single ? Number.POSITIVE_INFINITY : this.#allowance;
  }

  /** Charges the lane's owner for a service that cost `bytes`. */
  charge(lane: number, bytes: number): void {
    const { single, owners, weights } = this.groups;
    if (single) return;
    const owner = owners[lane];
    this.#catchUp(owner);
    this.#accounts[owner] += bytes / weights[owner];
    this.#recent[owner] = 1;
    this.#someRecent = true;
    this.#lane = lane;
  }

  /** The lanes have their turn: `chooseFunction` looks at the owners that they serve in it. */
  beginPass(): void {
    if (!this.#someRecent) return;
    this.#someRecent = false;
    this.#recent.fill(0);
  }

  /**
   * The function of those with `waiting[number] > 0` whose send contexts are served next: the
   * least-served one, and the first one behind `last` among equals. Functions without lanes of
   * their own have one account, and take turns on it. An owner that is ahead of another one whose
   * lanes were served in this pass must wait. Returns -1 when all must.
   */
  chooseFunction(waiting: Int32Array, last: number): number {
    const { single } = this.groups;
    let chosen = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let step = 1; step <= waiting.length; step++) {
      const number = (last + step) % waiting.length;
      if (waiting[number] === 0) continue;
      if (single) return number;
      const owner = this.#ownerOf(number);
      this.#catchUp(owner);
      if (this.#accounts[owner] >= least || this.#isAhead(owner)) continue;
      least = this.#accounts[owner];
      chosen = number;
    }
    if (chosen < 0) return chosen;
    if (least > this.#clock) this.#clock = least;
    return this.#ownerOf(chosen) === NO_OWNER ? this.#nextShared(waiting) : chosen;
  }

  /** Charges a function for a packet of its send contexts, which have no lane. */
  chargeFunction(number: number, bytes: number): void {
    if (this.groups.single) return;
    const owner = this.#ownerOf(number);
    if (owner === NO_OWNER) this.#lastShared = number;
    this.#catchUp(owner);
    this.#accounts[owner] += bytes / (this.groups.weights[owner] || 1);
  }

  /**
   * The next function on the shared account: other owners that are served in between do not matter.
   */
  #nextShared(waiting: Int32Array): number {
    const count = waiting.length;
    let number = (this.#lastShared + 1) % count;
    while (waiting[number] === 0 || this.#ownerOf(number) !== NO_OWNER) number = (number + 1) % count;
    return number;
  }

  /** A function without lanes of its own has the account of the lanes that all may use. */
  #ownerOf(number: number): number {
    return this.groups.weights[number] > 0 ? number : NO_OWNER;
  }

  #isAhead(owner: number): boolean {
    for (let other = 0; other <= NO_OWNER; other++)
      if (this.#recent[other] === 1 && other !== owner && this.#accounts[other] < this.#accounts[owner]) return true;
    return false;
  }

  /**
   * Raises the account to its minimum. Returns nothing: a returned fraction would be a heap object.
   */
  #catchUp(owner: number): void {
    const least = this.#clock - LAG_BYTES;
    if (this.#accounts[owner] < least) this.#accounts[owner] = least;
  }
}
