// SPDX-License-Identifier: Apache-2.0
/**
 * Whose lanes have the turn: owners of lanes take turns, each with as much as all its lanes weigh, whether they all have work or not. So a function's share does not
 * depend on over how many lanes its queue pairs are spread. The lanes of nobody are one owner's. Reckons with sets: the cost does not depend on the number of functions or lanes.
 */
import { FUNCTION_MAX, TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';

const NOBODY = FUNCTION_MAX;
const ALL = LaneSet.first(TVL_MAX).words;

/** Which lanes belong together, and what they weigh. */
export class LaneOwners {
  /** All lanes have the same owner: nobody needs turns. */
  single = true;
  readonly weights = new Float64Array(FUNCTION_MAX + 1);
  readonly owners = new Uint8Array(TVL_MAX).fill(NOBODY);
  readonly lanes: readonly LaneSet[] = Array.from({ length: FUNCTION_MAX + 1 }, () => new LaneSet());

  /** `getOwner`: the function that owns a lane, or a negative number. */
  recompute(lanes: readonly Lane[], getOwner: (lane: number) => number): void {
    this.weights.fill(0);
    for (const set of this.lanes) set.subtract(ALL);
    for (const { number, weight } of lanes) {
      const owner = getOwner(number);
      this.owners[number] = owner < 0 ? NOBODY : owner;
      this.lanes[this.owners[number]].add(number);
      this.weights[this.owners[number]] += weight;
    }
    this.single = this.owners.subarray(0, lanes.length).every((owner) => owner === this.owners[0]);
  }
}

export class OwnerTurns {
  readonly #groups: LaneOwners;
  readonly #quantum: number;
  readonly #deficits = new Float64Array(FUNCTION_MAX + 1);
  readonly #narrowed = new LaneSet();
  /** Lanes of owners that had no turn in this round. */
  readonly #due = LaneSet.first(TVL_MAX);
  #current = NOBODY;
  #lane = 0;

  /** `quantum`: what a turn is worth for each unit of weight. */
  constructor(groups: LaneOwners, quantum: number) {
    this.#groups = groups;
    this.#quantum = quantum;
  }

  /** Those of `lanes` that belong to the owner whose turn it is; changes nothing. */
  narrow(lanes: LaneSet): LaneSet {
    if (this.#groups.single) return lanes;
    const narrowed = this.#narrowed;
    const own = this.#groups.lanes[this.#current].words;
    if (this.#deficits[this.#current] > 0 && !narrowed.assign(lanes.words).intersect(own).isEmpty) return narrowed;
    let next = narrowed.assign(lanes.words).subtract(own).intersect(this.#due.words).after(this.#lane);
    if (next < 0) next = narrowed.assign(lanes.words).subtract(own).after(this.#lane);
    if (next < 0) return lanes;
    return narrowed.assign(lanes.words).intersect(this.#groups.lanes[this.#groups.owners[next]].words);
  }

  /** The lane was served, at this cost. Returns whether all owners with work had had their turn before. */
  charge(lane: number, cost: number): boolean {
    if (this.#groups.single) return false;
    const owner = this.#groups.owners[lane];
    const begins = owner !== this.#current || this.#deficits[owner] <= 0;
    const roundEnds = begins && !this.#due.has(lane);
    if (begins) this.#begin(owner, lane);
    this.#deficits[owner] -= cost;
    return roundEnds;
  }

  get single(): boolean {
    return this.#groups.single;
  }

  #begin(owner: number, lane: number): void {
    if (!this.#due.has(lane)) this.#due.assign(ALL);
    this.#due.subtract(this.#groups.lanes[owner].words);
    this.#current = owner;
    this.#lane = lane;
    // Nothing is saved up while there is nothing to do.
    this.#deficits[owner] = Math.min(0, this.#deficits[owner]) + this.#groups.weights[owner] * this.#quantum;
  }
}
