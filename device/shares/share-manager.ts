// SPDX-License-Identifier: Apache-2.0
/**
 * The service processor's resource manager (US8484392 figures 4 and 5; DESIGN.md 4.7): has the one plan of who has what. Requests are tried out on a copy of it; when every
 * change is good the copy becomes the plan and the units whose numbers differ are told, those that get less before those that get more.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../protocol/layout/gen/constants.gen.ts';
import { newResourceChange, type ResourceChange } from '../../protocol/layout/gen/resource-change.gen.ts';
import { ManagementStatus, ResourceKind } from '../../protocol/layout/gen/values.gen.ts';
import { LANE_WORDS } from '../lane/lane-set.ts';
import { bitsOf, LANES_PER_WORD } from './lane-changes.ts';
import { HOST, makeChanges, type Requester, type RequestRefusal } from './share-changes.ts';
import { type LaneShare, NOBODY, SHARED_CREDITS_ALL, type SharePlan } from './share-plan.ts';
import type { ShareUnits } from './share-units.ts';

/** In the order in which a function regains them. */
const regained = [
  [ResourceKind.VCBS, 'vcbs'],
  [ResourceKind.PCBS, 'pcbs'],
  [ResourceKind.SCHEDULER_BUFFERS, 'schedulerBuffers'],
] as const;

export class ShareManager {
  readonly units: ShareUnits;
  /** The division at power-on. */
  readonly initial: SharePlan;
  #plan: SharePlan;
  /** What the units were told: the plan, but for what is lent. */
  #told: SharePlan;
  /** Functions whose lanes lend their credits. */
  readonly #lent = new Set<number>();

  /** `initial`: what the units start with. */
  constructor(units: ShareUnits, initial: SharePlan) {
    this.units = units;
    this.initial = initial;
    this.#plan = initial.copy();
    this.#told = initial.copy();
  }

  /** Who has what. The sub-BARs are read from the units, because software moves them by a register. */
  get plan(): SharePlan {
    this.#plan.functions.forEach((share, number) => {
      share.vcbDivider = this.units.getVcbDivider(number);
    });
    return this.#plan;
  }

  /** Makes all changes, or none and says why. */
  request(requester: Requester, changes: readonly ResourceChange[]): RequestRefusal | undefined {
    const plan = this.plan.copy();
    const refusal = makeChanges(plan, this.units, requester, changes);
    if (refusal !== undefined) return refusal;
    const before = this.#plan;
    this.#adopt(plan);
    plan.functions.forEach((_, number) => {
      const itself = !requester.host && requester.function === number;
      if (!itself && describeShare(before, number) !== describeShare(plan, number)) this.units.shareChanged(number);
    });
    return undefined;
  }

  /** The function was reset: what it chose itself, the split among its levels, is as at power-on, as far as its share goes. */
  resetSplit(owner: number): void {
    const plan = this.plan.copy();
    const [share, first] = [plan.functions[owner], this.initial.functions[owner]];
    share.vcbDivider = first.vcbDivider;
    share.levelPcbs[1] = Math.min(first.levelPcbs[1], share.pcbs);
    share.levelPcbs[0] = Math.min(first.levelPcbs[0], share.pcbs - share.levelPcbs[1]);
    const lanes = plan.lanesOf(owner);
    for (const number of lanes) {
      const lane = this.initial.lanes[number];
      plan.lanes[number].levels = lane.owner === owner ? lane.levels : 0;
    }
    const mapped = plan.mappedLevels(owner);
    for (const number of lanes) plan.lanes[number].levels ||= mapped;
    this.#adopt(plan);
  }

  /** All the function has becomes unallocated. */
  returnShare(owner: number): void {
    const plan = this.plan.copy();
    Object.assign(plan.functions[owner], { vcbs: 0, pcbs: 0, levelPcbs: [0, 0], schedulerBuffers: 0 });
    for (const number of plan.lanesOf(owner)) Object.assign(plan.lanes[number], { owner: NOBODY, levels: 0 });
    this.#adopt(plan);
  }

  /** The function gets its share of power-on again, as far as there is room. */
  regainShare(owner: number): void {
    const first = this.initial.functions[owner];
    for (const [kind, name] of regained) this.#regain(kind, owner, first[name]);
    this.#regain(ResourceKind.TVLS, owner, this.initial.lanesOf(owner).length);
    this.resetSplit(owner);
  }

  /** Lends what an idle function has; again and again does no harm. */
  lend(owner: number): void {
    this.units.lendPcbs(owner);
    if (this.#lent.has(owner)) return;
    this.#lent.add(owner);
    this.#adopt(this.plan.copy());
  }

  /** From now on nobody else takes what was lent. */
  askBack(owner: number): void {
    this.units.askBackPcbs(owner);
    if (this.#lent.delete(owner)) this.#adopt(this.plan.copy());
  }

  isLent(owner: number): boolean {
    return this.#lent.has(owner);
  }

  #regain(resource: ResourceKind, target: number, wanted: number): void {
    for (let amount = wanted; amount > 0; ) {
      const change = { ...newResourceChange(), resource, target, qosLevel: RESOURCE_NO_LEVEL, amount };
      const refusal = this.request(HOST, [change]);
      if (refusal === undefined) return;
      amount = refusal.status === ManagementStatus.NO_RESOURCES ? refusal.limit : Math.floor(amount / 2);
    }
  }

  #adopt(plan: SharePlan): void {
    this.#plan = plan;
    const next = plan.copy();
    for (const lane of next.lanes)
      if (this.#lent.has(lane.owner))
        Object.assign(lane, { executionCredits: 0, completionCredits: 0, sharedCredits: SHARED_CREDITS_ALL });
    const before = this.#told;
    this.#told = next;
    for (const growing of [false, true]) {
      this.#tellFunctions(before, next, growing);
      this.#tellLanes(before, next, growing);
    }
    this.#tellMaps(before, next);
  }

  #tellFunctions(before: SharePlan, next: SharePlan, growing: boolean): void {
    const { units } = this;
    next.functions.forEach((share, number) => {
      const old = before.functions[number];
      const [level0, level1] = share.levelPcbs;
      if (share.pcbs > old.pcbs === growing)
        if (share.pcbs !== old.pcbs || level0 !== old.levelPcbs[0] || level1 !== old.levelPcbs[1])
          units.setPcbs(number, share.pcbs, level0, level1);
      if (share.schedulerBuffers !== old.schedulerBuffers && share.schedulerBuffers > old.schedulerBuffers === growing)
        units.setSchedulerBuffers(number, share.schedulerBuffers);
      if (!growing) return;
      if (share.vcbBase !== old.vcbBase || share.vcbs !== old.vcbs) units.placeVcbs(number, share.vcbBase, share.vcbs);
      if (share.vcbDivider !== units.getVcbDivider(number)) units.setVcbDivider(number, share.vcbDivider);
    });
  }

  #tellLanes(before: SharePlan, next: SharePlan, growing: boolean): void {
    next.lanes.forEach((lane, number) => {
      const old = before.lanes[number];
      const grows = lane.executionCredits + lane.completionCredits > old.executionCredits + old.completionCredits;
      if (grows === growing && describeLane(lane) !== describeLane(old)) this.units.setLane(number, lane);
    });
  }

  #tellMaps(before: SharePlan, next: SharePlan): void {
    const { units } = this;
    // What changed hands is owned by nobody in between: it leaves its old owner first.
    const differs = (a: readonly number[], b: readonly number[]): boolean => a.join() !== b.join();
    const moved = next.functions.map((_, owner) => differs(before.lanesOf(owner), next.lanesOf(owner)));
    moved.forEach((changed, owner) => {
      const kept = before.lanesOf(owner).filter((number) => next.lanes[number].owner === owner);
      if (changed) units.setOwnedLanes(owner, maskOf(kept));
    });
    if (differs(before.lanesDedicated, next.lanesDedicated)) units.setDedicatedLanes(maskOf(next.lanesDedicated));
    next.functions.forEach((_, owner) => {
      if (moved[owner]) units.setOwnedLanes(owner, maskOf(next.lanesOf(owner)));
      for (let level = 0; level < QOS_LEVELS; level++) {
        const lanes = next.lanesOfLevel(owner, level);
        if (differs(before.lanesOfLevel(owner, level), lanes)) units.setLevelLanes(owner, level, maskOf(lanes));
      }
    });
  }
}

/** The words of a map with these lanes. */
export function maskOf(lanes: readonly number[]): number[] {
  const words = Array.from({ length: LANE_WORDS }, (): number[] => []);
  for (const number of lanes) words[Math.floor(number / LANES_PER_WORD)].push(number);
  return words.map(bitsOf);
}

function describeLane({ executionCredits, completionCredits, sharedCredits, listSize, weight }: LaneShare): string {
  return [executionCredits, completionCredits, sharedCredits, listSize, weight].join();
}

/** All a function has, to see whether it is still the same. */
function describeShare(plan: SharePlan, owner: number): string {
  const lanes = plan
    .lanesOf(owner)
    .map((number) => [number, plan.lanes[number].levels, describeLane(plan.lanes[number])]);
  return JSON.stringify([plan.functions[owner], lanes]);
}
