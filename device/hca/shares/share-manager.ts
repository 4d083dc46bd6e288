// SPDX-License-Identifier: Apache-2.0
/**
 * The resource manager of the service processor (US 8,484,392 par. 62-86): holds the plan of all
 * shares. A request is tried out on a copy; when every change is accepted, the copy becomes the
 * plan and the units whose numbers differ are set, decreases before increases. Called by management
 * commands, by the host's requests and by the share adjuster.
 * Commands: share-commands, report: resource-report.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import { newResourceChange, type ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { LANE_WORDS, type LaneMask } from '../lane/lane-set.ts';
import { bitsOf, LANES_PER_WORD } from './lane-changes.ts';
import type { Settings } from './setting-changes.ts';
import { HOST, makeChanges, type RequestRefusal, type ShareRequester } from './share-changes.ts';
import { type LaneShare, NO_OWNER, SHARED_CREDITS_ALL, type SharePlan } from './share-plan.ts';
import type { VcbReservations } from './vcb-placement.ts';

/**
 * The units of one adapter, as the share manager sets and reads them (US 8,484,392 par. 68, 71, 73
 * and 75: the registers that change). Setters do not check their arguments: all was checked on a
 * plan before. Implemented by `adapter/adapter-units.ts`.
 */
export interface ShareUnits extends VcbReservations {
  placeVcbs(functionNumber: number, base: number, count: number): void;
  /** First VCB of QoS level 1, counted from the base. Software may move it by its register. */
  getVcbDivider(functionNumber: number): number;
  setVcbDivider(functionNumber: number, vcb: number): void;
  setPcbs(functionNumber: number, total: number, level0: number, level1: number): void;
  setSchedulerBuffers(functionNumber: number, count: number): void;
  setSendShare(functionNumber: number, contexts: number, blocks: number): void;
  setOwnedLanes(functionNumber: number, mask: LaneMask): void;
  setLevelLanes(functionNumber: number, qosLevel: number, mask: LaneMask): void;
  setDedicatedLanes(mask: LaneMask): void;
  setLane(lane: number, share: LaneShare): void;
  /** Notifies the function that another requester changed its share. */
  shareChanged(functionNumber: number): void;
  /** A count that grows with every request of the function's software. */
  getActivity(functionNumber: number): number;
  /** True while commands of the function hold buffers or credits. */
  isBusy(functionNumber: number): boolean;
  /**
   * Lends PCBs that the function does not use to all functions until it binds one, or until
   * `askBackPcbs`.
   */
  lendPcbs(functionNumber: number): void;
  askBackPcbs(functionNumber: number): void;
  /** A copy of the settings, which software changes by registers. */
  readSettings(): Settings;
  /** Sets those that differ. */
  applySettings(settings: Settings): void;
}

/** In the order in which a function regains its resources. */
const regained = [
  [ResourceKind.VCBS, 'vcbs'],
  [ResourceKind.PCBS, 'pcbs'],
  [ResourceKind.SCHEDULER_BUFFERS, 'schedulerBuffers'],
  [ResourceKind.SEND_CONTEXTS, 'sendContexts'],
  [ResourceKind.SEND_BLOCKS, 'sendBlocks'],
] as const;

/** Holds and changes the division of one adapter's resources. */
export class ShareManager {
  readonly units: ShareUnits;
  /** The division at power-on. */
  readonly initial: SharePlan;
  #plan: SharePlan;
  /** The plan as the units have it: it differs from `#plan` in what is lent. */
  #told: SharePlan;
  /** Functions whose lanes lend their credits. */
  readonly #lent = new Set<number>();

  /** `initial`: the division with which the units start. */
  constructor(units: ShareUnits, initial: SharePlan) {
    this.units = units;
    this.initial = initial;
    this.#plan = initial.copy();
    this.#told = initial.copy();
  }

  /**
   * The present division. The sub-BARs are read from the units, because software moves them by a
   * register.
   */
  get plan(): SharePlan {
    this.#plan.functions.forEach((share, number) => {
      share.vcbDivider = this.units.getVcbDivider(number);
    });
    return this.#plan;
  }

  /**
   * Makes all changes, or none and returns the first refusal. Functions whose share another
   * requester changed are notified.
   */
  request(requester: ShareRequester, changes: readonly ResourceChange[]): RequestRefusal | undefined {
    const plan = this.plan.copy();
    const settings = this.units.readSettings();
    const refusal = makeChanges({ plan, settings }, this.units, requester, changes);
    if (refusal !== undefined) return refusal;
    const before = this.#plan;
    this.#adopt(plan);
    plan.functions.forEach((_, number) => {
      const itself = !requester.host && requester.function === number;
      if (!itself && describeShare(before, number) !== describeShare(plan, number)) this.units.shareChanged(number);
    });
    // Controls may return or lend shares, and so change the plan again.
    this.units.applySettings(settings);
    return undefined;
  }

  /**
   * Undoes what the function chose itself, the split among its levels: it is as at power-on, as far
   * as the share allows.
   */
  resetSplit(functionNumber: number): void {
    const plan = this.plan.copy();
    const [share, first] = [plan.functions[functionNumber], this.initial.functions[functionNumber]];
    share.vcbDivider = first.vcbDivider;
    share.levelPcbs[1] = Math.min(first.levelPcbs[1], share.pcbs);
    share.levelPcbs[0] = Math.min(first.levelPcbs[0], share.pcbs - share.levelPcbs[1]);
    const lanes = plan.lanesOf(functionNumber);
    for (const number of lanes) {
      const lane = this.initial.lanes[number];
      plan.lanes[number].levels = lane.owner === functionNumber ? lane.levels : 0;
    }
    const mapped = plan.mappedLevels(functionNumber);
    for (const number of lanes) plan.lanes[number].levels ||= mapped;
    this.#adopt(plan);
  }

  /** Makes the whole share of the function unallocated. */
  returnShare(functionNumber: number): void {
    const plan = this.plan.copy();
    const share = plan.functions[functionNumber];
    Object.assign(share, { vcbs: 0, pcbs: 0, levelPcbs: [0, 0], schedulerBuffers: 0, sendContexts: 0, sendBlocks: 0 });
    for (const number of plan.lanesOf(functionNumber))
      Object.assign(plan.lanes[number], { owner: NO_OWNER, levels: 0 });
    this.#adopt(plan);
  }

  /** Restores the function's share of power-on, as far as unallocated resources allow. */
  regainShare(functionNumber: number): void {
    const first = this.initial.functions[functionNumber];
    for (const [kind, name] of regained) this.#regain(kind, functionNumber, first[name]);
    this.#regain(ResourceKind.TVLS, functionNumber, this.initial.lanesOf(functionNumber).length);
    this.resetSplit(functionNumber);
  }

  /** Lends the PCBs and credits of an idle function. Repeated calls have no effect. */
  lend(functionNumber: number): void {
    this.units.lendPcbs(functionNumber);
    if (this.#lent.has(functionNumber)) return;
    this.#lent.add(functionNumber);
    this.#adopt(this.plan.copy());
  }

  /** Ends the loan: from now on no other function takes from this share. */
  askBack(functionNumber: number): void {
    this.units.askBackPcbs(functionNumber);
    if (this.#lent.delete(functionNumber)) this.#adopt(this.plan.copy());
  }

  /** True while the function lends its credits. */
  isLent(functionNumber: number): boolean {
    return this.#lent.has(functionNumber);
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
      if (share.sendContexts !== old.sendContexts || share.sendBlocks !== old.sendBlocks)
        units.setSendShare(number, share.sendContexts, share.sendBlocks);
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
    // A lane that changes its owner is shared in between: it leaves its old owner first.
    const differs = (a: readonly number[], b: readonly number[]): boolean => a.join() !== b.join();
    const moved = next.functions.map((_, functionNumber) =>
      differs(before.lanesOf(functionNumber), next.lanesOf(functionNumber)),
    );
    moved.forEach((changed, functionNumber) => {
      const kept = before.lanesOf(functionNumber).filter((number) => next.lanes[number].owner === functionNumber);
      if (changed) units.setOwnedLanes(functionNumber, maskOf(kept));
    });
    if (differs(before.lanesDedicated, next.lanesDedicated)) units.setDedicatedLanes(maskOf(next.lanesDedicated));
    next.functions.forEach((_, functionNumber) => {
      if (moved[functionNumber]) units.setOwnedLanes(functionNumber, maskOf(next.lanesOf(functionNumber)));
      for (let level = 0; level < QOS_LEVELS; level++) {
        const lanes = next.lanesOfLevel(functionNumber, level);
        if (differs(before.lanesOfLevel(functionNumber, level), lanes))
          units.setLevelLanes(functionNumber, level, maskOf(lanes));
      }
    });
  }
}

/** The words of a lane map with the bits of `lanes` set. */
export function maskOf(lanes: readonly number[]): number[] {
  const words = Array.from({ length: LANE_WORDS }, (): number[] => []);
  for (const number of lanes) words[Math.floor(number / LANES_PER_WORD)].push(number);
  return words.map(bitsOf);
}

function describeLane({ executionCredits, completionCredits, sharedCredits, listSize, weight }: LaneShare): string {
  return [executionCredits, completionCredits, sharedCredits, listSize, weight].join();
}

/** The share of a function as text, to compare two plans. */
function describeShare(plan: SharePlan, functionNumber: number): string {
  const lanes = plan
    .lanesOf(functionNumber)
    .map((number) => [number, plan.lanes[number].levels, describeLane(plan.lanes[number])]);
  return JSON.stringify([plan.functions[functionNumber], lanes]);
}
