// SPDX-License-Identifier: Apache-2.0
/**
 * The virtual kick arbitrator (US 8,484,392 par. 47; US 9,069,485 par. 77; docs/DOCUMENTS.md
 * decision 13): selects the next lane among those with work and both credits, first by owner
 * (owner-turns.ts), then by weighted round robin. It works on sets of lanes, so a lane without
 * credit or with a full port costs nothing. Called by `TransmitVirtualLanes`.
 */

import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Timeline } from '../function/timeline.ts';
import { LaneCredit } from '../function/timeline-values.ts';
import type { CreditAccounts } from './credit-accounts.ts';
import type { Lane } from './lane.ts';
import { LaneSet, wordsOf } from './lane-set.ts';
import { COMMAND_COST_BYTES, type OwnerTurns } from './owner-turns.ts';

/** A port as the arbitrator uses it. */
export interface LanePort {
  readonly congested: boolean;
}

const NO_LANE = -1;

/**
 * A lane that needs two shared credits could starve: lanes that need only one kind would always
 * take it first. So a lane that was passed over for two rounds becomes claimant, and the next free
 * shared credit is kept for it, the completion credit first because it takes longest to return.
 */
export class KickArbitrator {
  readonly #lanes: readonly Lane[];
  /** Lanes whose kick list is not empty, their number, and the lane if there is only one. */
  readonly #work = new LaneSet();
  #working = 0;
  #lone = NO_LANE;
  /** Words of each set that hold existing lanes. */
  readonly #words: number;
  readonly #execution: CreditAccounts;
  readonly #completion: CreditAccounts;
  readonly #ports: readonly LanePort[];
  /** By port: lanes whose first command found the port full. */
  readonly #blocked: readonly LaneSet[];
  /** True when one of these sets is not empty. */
  #someBlocked = false;
  readonly #owners: OwnerTurns;
  readonly #eligible = new LaneSet();
  /**
   * Lanes served in this round, which ends when every lane that could be served was; lanes with
   * work that the last round did not serve; those that two rounds did not serve.
   */
  readonly #served = new LaneSet();
  readonly #passed = new LaneSet();
  readonly #passedTwice = new LaneSet();
  /** True when one of these sets may not be empty. */
  #inRound = false;
  /** The lane selected last had no rival, so its launch changes none of these sets. */
  #isAlone = false;
  /**
   * By owner: the lane served last, and the launches left of its turn. A turn continues after turns
   * of other owners.
   */
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

  /** The kick list of the lane has its first command. */
  addWork(lane: number): void {
    if (this.#work.has(lane)) return;
    this.#work.add(lane);
    this.#lone = ++this.#working === 1 ? lane : NO_LANE;
  }

  /** The kick list of the lane, which had a command, is empty. */
  removeWork(lane: number): void {
    this.#work.delete(lane);
    this.#lone = --this.#working === 1 ? this.#work.after(0) : NO_LANE;
  }

  /** The lane whose first command is launched next, or -1. */
  select(): number {
    if (this.#working === 0) {
      // A claimant whose list is empty gives up its claim.
      this.#claimant = NO_LANE;
      return NO_LANE;
    }
    const lone = this.#lone;
    this.#isAlone = lone !== NO_LANE && this.#owners.groups.single && this.#isSettled();
    if (this.#isAlone) return this.#has(lone) ? lone : NO_LANE;
    const eligible = this.#findEligible();
    if (this.#claimant !== NO_LANE && this.#has(this.#claimant)) return this.#claimant;
    const { single, owners } = this.#owners.groups;
    if (!single && eligible.isEmpty) return NO_LANE;
    const lanes = this.#owners.choose(eligible);
    const owner = owners[single ? 0 : lanes.after(0)];
    const current = this.#currents[owner];
    return this.#turnsLeft[owner] > 0 && lanes.has(current) ? current : lanes.after(current);
  }

  /** The first command of the lane was launched. */
  noteLaunch(lane: number): void {
    this.#owners.charge(lane, COMMAND_COST_BYTES);
    if (this.#isAlone) return this.#takeTurn(lane);
    this.#served.add(lane);
    this.#inRound = true;
    // A claim is served in addition to the turns of its owner's lanes.
    if (lane === this.#claimant) {
      this.#claimant = NO_LANE;
      return;
    }
    this.#takeTurn(lane);
    if (this.#eligible.isWithin(this.#served)) this.#endRound(lane);
  }

  #takeTurn(lane: number): void {
    const owner = this.#owners.groups.owners[lane];
    if (lane !== this.#currents[owner] || this.#turnsLeft[owner] === 0) {
      this.#currents[owner] = lane;
      this.#turnsLeft[owner] = this.#lanes[lane].weight;
    }
    this.#turnsLeft[owner]--;
  }

  /** The first command of the lane waits for room at port `index`. */
  block(lane: number, index: number): void {
    this.#blocked[index].add(lane);
    this.#someBlocked = true;
  }

  /** The first command of the lane has changed, or may need no port any more. */
  reconsider(lane: number): void {
    if (!this.#someBlocked) return;
    this.#someBlocked = false;
    for (const blocked of this.#blocked) {
      blocked.delete(lane);
      if (!blocked.isEmpty) this.#someBlocked = true;
    }
  }

  /** True when no lane was passed over, has a claim or waits for its port. */
  #isSettled(): boolean {
    return !this.#inRound && this.#claimant === NO_LANE && !this.#someBlocked;
  }

  /**
   * Lanes with work, both credits and room at the port. Credits kept for a claimant do not count.
   */
  #findEligible(): LaneSet {
    if (this.#claimant !== NO_LANE && !this.#mayClaim(this.#claimant)) this.#claimant = NO_LANE;
    const claimed = this.#claimant !== NO_LANE;
    const lanes = this.#eligible;
    const words = this.#words;
    this.#completion.narrow(this.#work, words, claimed ? 1 : 0, lanes);
    // A claimant that has the completion credit is served as soon as an execution credit is free.
    this.#execution.narrow(lanes, words, 0, lanes);
    if (this.#someBlocked)
      for (let index = 0; index < this.#ports.length; index++)
        if (this.#ports[index].congested) lanes.subtract(this.#blocked[index].words);
    return lanes;
  }

  /** No lane can launch: notes once for each command that its lane lacks a credit. */
  noteWaits(timeline: Timeline): undefined {
    for (const lane of this.#lanes) {
      const { number } = lane;
      if (!this.#work.has(number) || this.#has(number)) continue;
      lane.noteWaits(timeline, this.#completion.has(number) ? LaneCredit.EXECUTION : LaneCredit.COMPLETION);
    }
  }

  /** True when only credits are missing for a launch. */
  #mayClaim(lane: number): boolean {
    if (!this.#work.has(lane) || !this.#couldHave(lane)) return false;
    if (!this.#someBlocked) return true;
    return !this.#ports.some((port, index) => port.congested && this.#blocked[index].has(lane));
  }

  #has(lane: number): boolean {
    return this.#execution.has(lane) && this.#completion.has(lane);
  }

  #couldHave(lane: number): boolean {
    return this.#execution.couldHave(lane) && this.#completion.couldHave(lane);
  }

  /**
   * Every lane that could be served had its turn. Lanes with work that two rounds passed over get a
   * claim, one after the other.
   */
  #endRound(last: number): void {
    const twice = this.#passedTwice;
    this.#inRound = twice.takePassed(this.#passed, this.#work, this.#served, this.#words);
    if (!this.#inRound || this.#claimant !== NO_LANE) return;
    const lane = twice.after(last);
    if (lane !== NO_LANE && this.#couldHave(lane)) this.#claimant = lane;
  }
}
