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
import { LaneSet } from './lane-set.ts';
import { COMMAND_COST_BYTES, type OwnerTurns } from './owner-turns.ts';

/** What the arbitrator needs to know of a port. */
export interface LanePort {
  readonly congested: boolean;
}

const NO_LANE = -1;
const NOBODY = new LaneSet().words;

export class KickArbitrator {
  /** Lanes whose list is not empty. */
  readonly work = new LaneSet();
  readonly #lanes: readonly Lane[];
  readonly #execution: CreditAccounts;
  readonly #completion: CreditAccounts;
  readonly #ports: readonly LanePort[];
  /** By port: lanes whose first command found it full. */
  readonly #blocked: readonly LaneSet[];
  readonly #owners: OwnerTurns;
  readonly #eligible = new LaneSet();
  /** Lanes served in this round, which ends when all that could be served were; lanes with work that were not served in the last one. */
  readonly #served = new LaneSet();
  readonly #passed = new LaneSet();
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
  }

  /** The lane's first command may no longer wait for a port, or is another one now. */
  reconsider(lane: number): void {
    for (const blocked of this.#blocked) blocked.delete(lane);
  }

  #findEligible(): LaneSet {
    const lanes = this.#eligible.assign(this.work.words);
    for (let index = 0; index < this.#ports.length; index++)
      if (this.#ports[index].congested) lanes.subtract(this.#blocked[index].words);
    if (this.#claimant !== NO_LANE && !(lanes.has(this.#claimant) && this.#couldHave(this.#claimant)))
      this.#claimant = NO_LANE;
    const claimed = this.#claimant !== NO_LANE;
    this.#completion.narrow(lanes, claimed ? 1 : 0);
    this.#execution.narrow(lanes, claimed && this.#completion.has(this.#claimant) ? 1 : 0);
    return lanes;
  }

  #has(lane: number): boolean {
    return this.#execution.has(lane) && this.#completion.has(lane);
  }

  #couldHave(lane: number): boolean {
    return this.#execution.couldHave(lane) && this.#completion.couldHave(lane);
  }

  /** All lanes that could be served had their turn: those with work that were left out twice running get a claim, one after the other. */
  #endRound(last: number): void {
    const passed = this.#passed.intersect(this.work.words).subtract(this.#served.words);
    if (this.#claimant === NO_LANE) {
      const lane = passed.after(last);
      if (lane !== NO_LANE && this.#couldHave(lane)) this.#claimant = lane;
    }
    this.#passed.assign(this.work.words).subtract(this.#served.words);
    this.#served.assign(NOBODY);
  }
}
