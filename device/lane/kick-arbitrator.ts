// SPDX-License-Identifier: Apache-2.0
/**
 * The virtual kick arbitrator (US8484392): picks, among lanes that have work and both credits, by weighted round robin, first among their owners. It reckons with sets of lanes, so that a
 * lane that lacks a credit or whose port is full costs nothing.
 *
 * A lane that needs two shared credits could for ever see one of each kind taken by lanes that need only that one. So a lane that was passed over for
 * a whole round becomes claimant: the next free shared credit is kept for it, the completion credit first, since it takes longest to come.
 */
import { FUNCTION_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { CreditAccounts } from './credit-accounts.ts';
import type { Lane } from './lane.ts';
import { LaneSet, wordsOf } from './lane-set.ts';
import { COMMAND_COST_BYTES, type OwnerTurns } from './owner-turns.ts';

/** What the arbitrator needs to know of a port. */
export interface LanePort {
  readonly congested: boolean;
}

const NO_LANE = -1;

export class KickArbitrator {
  /** Lanes whose list is not empty. */
  readonly work = new LaneSet();
  readonly #lanes: readonly Lane[];
  /** Of each set, those with lanes that exist. */
  readonly #words: number;
  readonly #execution: CreditAccounts;
  readonly #completion: CreditAccounts;
  readonly #ports: readonly LanePort[];
  /** By port: lanes whose first command found it full. */
  readonly #blocked: readonly LaneSet[];
  /** Some lane is in one of these sets. */
  #someBlocked = false;
  readonly #owners: OwnerTurns;
  readonly #eligible = new LaneSet();
  /** Lanes served in this round, which ends when all that could be served were; lanes with work that were not served in the last one. */
  readonly #served = new LaneSet();
  readonly #passed = new LaneSet();
  readonly #passedTwice = new LaneSet();
  /** By owner: the lane that was served last, and what is left of its turn. Both go on where they were when others had their turn. */
  readonly #currents = new Int16Array(FUNCTION_MAX + 1).fill(NO_LANE);
  readonly #turnsLeft = new Float64Array(FUNCTION_MAX + 1);
  #claimant = NO_LANE;

  constructor(
    lanes: readonly Lane[],
    execution: CreditAccounts,
    completion: CreditAccounts,
    ports: readonly LanePort[],
    owners: OwnerTurns,
  ) {
    this.#owners = owners;
    this.#lanes = lanes;
    this.#words = wordsOf(lanes.length);
    this.#execution = execution;
    this.#completion = completion;
    this.#ports = ports;
    this.#blocked = ports.map(() => new LaneSet());
  }

  /** The lane whose first command is next, or -1. */
  select(): number {
    const eligible = this.#findEligible();
    if (this.#claimant !== NO_LANE && this.#has(this.#claimant)) return this.#claimant;
    const { single, owners } = this.#owners.groups;
    if (!single && eligible.isEmpty) return NO_LANE;
    const lanes = this.#owners.choose(eligible);
    const owner = owners[single ? 0 : lanes.after(0)];
    const current = this.#currents[owner];
    return this.#turnsLeft[owner] > 0 && lanes.has(current) ? current : lanes.after(current);
  }

  /** The lane's first command was launched. */
  noteLaunch(lane: number): void {
    this.#owners.charge(lane, COMMAND_COST_BYTES);
    this.#served.add(lane);
    // A claim is served beside the turns of its owner's lanes.
    if (lane === this.#claimant) {
      this.#claimant = NO_LANE;
      return;
    }
    const owner = this.#owners.groups.owners[lane];
    if (lane !== this.#currents[owner] || this.#turnsLeft[owner] === 0) {
      this.#currents[owner] = lane;
      this.#turnsLeft[owner] = this.#lanes[lane].weight;
    }
    this.#turnsLeft[owner]--;
    if (this.#eligible.isWithin(this.#served)) this.#endRound(lane);
  }

  /** The lane's first command waits for port `index` to have room. */
  block(lane: number, index: number): void {
    this.#blocked[index].add(lane);
    this.#someBlocked = true;
  }

  /** The lane's first command may no longer wait for a port, or is another one now. */
  reconsider(lane: number): void {
    if (!this.#someBlocked) return;
    this.#someBlocked = false;
    for (const blocked of this.#blocked) {
      blocked.delete(lane);
      if (!blocked.isEmpty) this.#someBlocked = true;
    }
  }

  #findEligible(): LaneSet {
    if (this.#claimant !== NO_LANE && !this.#mayClaim(this.#claimant)) this.#claimant = NO_LANE;
    const claimed = this.#claimant !== NO_LANE;
    const lanes = this.#eligible;
    const words = this.#words;
    this.#completion.narrow(this.work, words, claimed ? 1 : 0, lanes);
    this.#execution.narrow(lanes, words, claimed && this.#completion.has(this.#claimant) ? 1 : 0, lanes);
    if (this.#someBlocked)
      for (let index = 0; index < this.#ports.length; index++)
        if (this.#ports[index].congested) lanes.subtract(this.#blocked[index].words);
    return lanes;
  }

  /** Nothing but credits is between the lane and a launch. */
  #mayClaim(lane: number): boolean {
    if (!this.work.has(lane) || !this.#couldHave(lane)) return false;
    if (!this.#someBlocked) return true;
    return !this.#ports.some((port, index) => port.congested && this.#blocked[index].has(lane));
  }

  #has(lane: number): boolean {
    return this.#execution.has(lane) && this.#completion.has(lane);
  }

  #couldHave(lane: number): boolean {
    return this.#execution.couldHave(lane) && this.#completion.couldHave(lane);
  }

  /** All lanes that could be served had their turn: those with work that were left out twice running get a claim, one after the other. */
  #endRound(last: number): void {
    const twice = this.#passedTwice;
    if (twice.takePassed(this.#passed, this.work, this.#served, this.#words) && this.#claimant === NO_LANE) {
      const lane = twice.after(last);
      if (this.#couldHave(lane)) this.#claimant = lane;
    }
  }
}
