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
  /** What the lanes of an owner weigh together, as a multiple of the lightest owner's. */
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
    let lightest = Number.POSITIVE_INFINITY;
    for (const weight of this.weights) if (weight > 0) lightest = Math.min(lightest, weight);
    for (let owner = 0; owner <= NOBODY; owner++) this.weights[owner] /= lightest;
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

  /** `quantum`: what a turn of the lightest owner is worth; weights are relative to it. */
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

  /** As `narrow`, and begins the turn. What the last turns of an owner were exceeded by is made up for by its next ones. */
  take(lanes: LaneSet): LaneSet {
    if (this.#groups.single) return lanes;
    let turn: LaneSet;
    do {
      turn = this.narrow(lanes);
      this.begin(turn.after(this.#lane));
    } while (this.#deficits[this.#current] <= 0);
    return turn;
  }

  /** The lane is served now: begins its owner's turn unless that goes on. Returns whether all owners with work had had their turn before. */
  begin(lane: number): boolean {
    if (this.#groups.single) return false;
    const owner = this.#groups.owners[lane];
    if (owner === this.#current && this.#deficits[owner] > 0) return false;
    const roundEnds = !this.#due.has(lane);
    if (roundEnds) this.#due.assign(ALL);
    this.#due.subtract(this.#groups.lanes[owner].words);
    this.#current = owner;
    this.#lane = lane;
    // Nothing is saved up while there is nothing to do.
    this.#deficits[owner] = Math.min(0, this.#deficits[owner]) + this.#groups.weights[owner] * this.#quantum;
    return roundEnds;
  }

  /** What is left of the turn that `begin` began. */
  get allowance(): number {
    return this.#groups.single ? Number.POSITIVE_INFINITY : this.#deficits[this.#current];
  }

  /** What serving the lane did cost. */
  charge(lane: number, cost: number): void {
    if (!this.#groups.single) this.#deficits[this.#groups.owners[lane]] -= cost;
  }
}
