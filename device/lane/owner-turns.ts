// SPDX-License-Identifier: Apache-2.0
/**
 * Whose lanes have the turn: those of the owner that has had least. There is one account for each owner, kept in bytes for each unit of its weight (what all its lanes weigh, whether they have work or not, so that
 * over how many of them its queue pairs are spread does not matter); the lanes of nobody are one owner's. Launches and packets of all ports choose by the same accounts: what is taken in one place is missing in the other.
 *
 * Why shares are met (start-time fair queueing; Goyal, Vin and Cheng 1996): the chosen account is never above that of another owner that waits, and a turn adds at most TURN or one packet to it. So of two owners that both
 * always have something waiting neither is ever further ahead of the other than that, each measured by its weight, however long they go on, whatever the size of their messages. `clock` is the
 * account served last. Who had nothing waiting is LAG behind it at most: enough to make up for what others passed by while its buffers were being filled again, too little to save up while idle.
 *
 * Reckons with sets: the cost is that of the owners that wait.
 */
import { LARGEST_MTU_BYTES } from '../../protocol/infiniband/mtu.ts';
import { FUNCTION_MAX, TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';

/**
 * The tariff: what serving costs, in bytes of payload moved in the same time; rounded from what RC WRITEs of 64 bytes to 64 KiB take (`docs/ARCHITECTURE.md`, Shares). A command, and a packet beside its payload.
 */
export const COMMAND_COST_BYTES = 4096;
export const PACKET_COST_BYTES = 2048;
/** A turn goes on so far beyond the next owner's account, lest short packets cost a choice each. Shares do not depend on it. */
const TURN_BYTES = 4096;
/**
 * Launches, and packets of connections, of one pass of the adapter while several functions have commands. Buffers of an owner are filled again between passes: it must not go dry within one, or others would have what is its own.
 * Eight are fewer than the buffers each of few functions has of its own; of many functions not all have a turn in each pass.
 */
export const CONTENDED_TURN = 8;
/** What others can have had in a pass at most. */
const LAG_BYTES = CONTENDED_TURN * (COMMAND_COST_BYTES + PACKET_COST_BYTES + LARGEST_MTU_BYTES);
const NO_OWNER = FUNCTION_MAX;
const ALL = LaneSet.first(TVL_MAX).words;

/** Which lanes belong together, and what they weigh. */
export class LaneOwners {
  /** All lanes have the same owner: nobody needs turns. */
  single = true;
  /** What the lanes of an owner weigh together, as a multiple of the lightest owner's. */
  readonly weights = new Float64Array(FUNCTION_MAX + 1);
  readonly owners = new Uint8Array(TVL_MAX).fill(NO_OWNER);
  readonly lanes: readonly LaneSet[] = Array.from({ length: FUNCTION_MAX + 1 }, () => new LaneSet());

  /** `getOwner`: the function that owns a lane, or a negative number. */
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

export class OwnerTurns {
  readonly groups: LaneOwners;
  /** Bytes each owner has had, by its weight. */
  readonly #accounts = new Float64Array(FUNCTION_MAX + 1);
  readonly #rest = new LaneSet();
  readonly #chosen = new LaneSet();
  #clock = 0;
  /** The lane charged last: of owners that have had the same the next one behind it is chosen. */
  #lane = 0;
  #allowance = Number.POSITIVE_INFINITY;

  constructor(groups: LaneOwners) {
    this.groups = groups;
  }

  /** Those of `lanes`, of which there are some, that belong to the owner whose turn it is. */
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
    if (least > this.#clock && least < Number.POSITIVE_INFINITY) this.#clock = least;
    this.#allowance = (next - least) * weights[chosen] + TURN_BYTES;
    return this.#chosen.assign(lanes.words).intersect(sets[chosen].words);
  }

  /** Bytes that the turn of the owner chosen last is worth. */
  get allowance(): number {
    return this.groups.single ? Number.POSITIVE_INFINITY : this.#allowance;
  }

  /** What serving the lane did cost its owner. */
  charge(lane: number, bytes: number): void {
    const { single, owners, weights } = this.groups;
    if (single) return;
    const owner = owners[lane];
    this.#catchUp(owner);
    this.#accounts[owner] += bytes / weights[owner];
    this.#lane = lane;
  }

  /** Puts the account where it is at least. Returns nothing: a fraction returned would be an object on the heap. */
  #catchUp(owner: number): void {
    const least = this.#clock - LAG_BYTES;
    if (this.#accounts[owner] < least) this.#accounts[owner] = least;
  }
}
