// SPDX-License-Identifier: Apache-2.0
/** A resource manager over units that only remember what they were told, so that requests can be tested by themselves and thousands at a time. */
import { crc32 } from 'node:zlib';
import { RESOURCE_NO_LEVEL } from '../../protocol/layout/gen/constants.gen.ts';
import { newResourceChange, type ResourceChange } from '../../protocol/layout/gen/resource-change.gen.ts';
import { LANE_WORDS, type LaneMask } from '../lane/lane-set.ts';
import type { Requester } from '../shares/share-changes.ts';
import { maskOf, ShareManager } from '../shares/share-manager.ts';
import { type FunctionShare, type LaneShare, NOBODY, type ShareLimits, SharePlan } from '../shares/share-plan.ts';
import type { ShareUnits } from '../shares/share-units.ts';

export const LIMITS: ShareLimits = {
  vcbs: 128,
  vcbsPerFunction: 64,
  pcbs: 96,
  schedulerBuffers: 16,
  executionCredits: 64,
  completionCredits: 256,
  listSize: 112,
};

/** What the units were told last. */
export class ModelUnits implements ShareUnits {
  readonly functions: FunctionShare[];
  readonly owned: number[][];
  readonly levels: number[][][];
  dedicated: number[] = maskOf([]);
  readonly lanes: LaneShare[];
  /** Functions told that their share changed, in order. */
  readonly told: number[] = [];
  /** VCB numbers still in use, by the function that holds them. */
  readonly held = new Map<number, number>();
  readonly activity: number[];
  readonly busy: boolean[];
  readonly lentPcbs = new Set<number>();

  constructor(plan: SharePlan) {
    const { functions, lanes } = plan.copy();
    this.functions = [...functions];
    this.lanes = [...lanes];
    this.owned = functions.map((_, owner) => maskOf(plan.lanesOf(owner)));
    this.levels = functions.map((_, owner) => [0, 1].map((level) => maskOf(plan.lanesOfLevel(owner, level))));
    this.activity = functions.map(() => 0);
    this.busy = functions.map(() => false);
  }

  isHeldByOther(owner: number, base: number, count: number): boolean {
    for (const [vcb, holder] of this.held) if (holder !== owner && vcb >= base && vcb < base + count) return true;
    return false;
  }

  placeVcbs(owner: number, vcbBase: number, vcbs: number): void {
    Object.assign(this.functions[owner], { vcbBase, vcbs });
  }

  getVcbDivider(owner: number): number {
    return this.functions[owner].vcbDivider;
  }

  setVcbDivider(owner: number, vcbDivider: number): void {
    this.functions[owner].vcbDivider = vcbDivider;
  }

  setPcbs(owner: number, pcbs: number, level0: number, level1: number): void {
    Object.assign(this.functions[owner], { pcbs, levelPcbs: [level0, level1] });
    const sum = this.functions.reduce((total, share) => total + share.pcbs, 0);
    if (sum > LIMITS.pcbs) throw new Error(`more PCBs are given than there are, for a moment: ${sum}`);
  }

  setSchedulerBuffers(owner: number, schedulerBuffers: number): void {
    this.functions[owner].schedulerBuffers = schedulerBuffers;
  }

  setOwnedLanes(owner: number, mask: LaneMask): void {
    this.owned[owner] = Array.from(mask);
    for (let word = 0; word < LANE_WORDS; word++)
      for (let other = 0; other < this.owned.length; other++)
        if (other !== owner && (this.owned[other][word] & this.owned[owner][word]) !== 0)
          throw new Error(`functions ${owner} and ${other} own the same lane, for a moment`);
  }

  setLevelLanes(owner: number, qosLevel: number, mask: LaneMask): void {
    this.levels[owner][qosLevel] = Array.from(mask);
  }

  setDedicatedLanes(mask: LaneMask): void {
    this.dedicated = Array.from(mask);
  }

  setLane(lane: number, share: LaneShare): void {
    const { executionCredits, completionCredits, sharedCredits, listSize, weight } = share;
    Object.assign(this.lanes[lane], { executionCredits, completionCredits, sharedCredits, listSize, weight });
  }

  shareChanged(owner: number): void {
    this.told.push(owner);
  }

  getActivity(owner: number): number {
    return this.activity[owner];
  }

  isBusy(owner: number): boolean {
    return this.busy[owner];
  }

  lendPcbs(owner: number): void {
    this.lentPcbs.add(owner);
  }

  askBackPcbs(owner: number): void {
    this.lentPcbs.delete(owner);
  }
}

/** A plan whose functions have what is given, one after the other in the VCB space, and no lanes. */
export function makePlan(
  shares: readonly Partial<FunctionShare>[],
  limits: ShareLimits = LIMITS,
  laneCount = 64,
): SharePlan {
  let vcbBase = 0;
  const functions = shares.map((share): FunctionShare => {
    const made = { vcbBase, vcbs: 0, vcbDivider: 64, pcbs: 0, levelPcbs: [0, 0], schedulerBuffers: 0, ...share };
    vcbBase += made.vcbs;
    return made;
  });
  const lane = { owner: NOBODY, levels: 0, dedicated: false, executionCredits: 0, completionCredits: 0 };
  const lanes = Array.from(
    { length: laneCount },
    (): LaneShare => ({ ...lane, sharedCredits: 3, listSize: limits.listSize, weight: 1 }),
  );
  return new SharePlan(limits, functions, lanes);
}

/** A manager and the units it tells. */
export function makeModel(plan: SharePlan): { manager: ShareManager; units: ModelUnits } {
  const units = new ModelUnits(plan);
  return { manager: new ShareManager(units, plan), units };
}

/** A change; of the whole function or lane unless a QoS level is named. */
export function change(
  resource: number,
  target: number,
  amount: number,
  more: Partial<ResourceChange> = {},
): ResourceChange {
  return { ...newResourceChange(), resource, target, amount, qosLevel: RESOURCE_NO_LEVEL, ...more };
}

export function guest(number: number): Requester {
  return { host: false, function: number };
}

/** Everything as one string: the plan and what the units were told. */
export function digest(model: ReturnType<typeof makeModel>): string {
  const { manager, units } = model;
  const { functions, owned, levels, dedicated, lanes } = units;
  const state = JSON.stringify([manager.plan, functions, owned, levels, dedicated, lanes]);
  return crc32(state).toString(16);
}

/** The first way in which what the units were told is not the plan, or the plan gives what there is not; undefined when there is none. */
export function findDisagreement({ manager, units }: ReturnType<typeof makeModel>): string | undefined {
  const { plan } = manager;
  const { limits } = plan;
  if (JSON.stringify(plan.functions) !== JSON.stringify(units.functions)) return 'the functions';
  for (const [owner, share] of plan.functions.entries()) {
    if (units.owned[owner].join() !== maskOf(plan.lanesOf(owner)).join()) return `lanes of function ${owner}`;
    for (const level of [0, 1])
      if (units.levels[owner][level].join() !== maskOf(plan.lanesOfLevel(owner, level)).join())
        return `lanes of level ${level} of function ${owner}`;
    if (share.levelPcbs[0] + share.levelPcbs[1] > share.pcbs || share.levelPcbs.some((pcbs) => pcbs < 0))
      return `PCBs of the levels of function ${owner}`;
    if (share.vcbBase < 0 || share.vcbBase + share.vcbs > limits.vcbs) return `VCBs of function ${owner}`;
    for (const other of plan.functions.slice(owner + 1))
      if (Math.max(share.vcbBase, other.vcbBase) < Math.min(share.vcbBase + share.vcbs, other.vcbBase + other.vcbs))
        return `VCBs of function ${owner} overlap`;
    if (plan.lanesOf(owner).length + plan.lanesShared.length === 0) return `function ${owner} has no lane`;
    if (share.schedulerBuffers + plan.schedulerBuffersUnallocated === 0) return `function ${owner} has no buffer`;
  }
  if (units.dedicated.join() !== maskOf(plan.lanesDedicated).join()) return 'lanes of the dedicated buffers';
  for (const left of [
    plan.pcbsUnallocated,
    plan.executionUnallocated,
    plan.completionUnallocated,
    plan.vcbsUnallocated,
  ])
    if (left < 0) return 'more is given than there is';
  for (const [number, lane] of plan.lanes.entries()) {
    const { executionCredits, completionCredits, sharedCredits } = lane;
    const execution = executionCredits + ((sharedCredits & 1) === 0 ? 0 : plan.executionUnallocated);
    const completion = completionCredits + ((sharedCredits & 2) === 0 ? 0 : plan.completionUnallocated);
    if (execution === 0 || completion === 0) return `lane ${number} starves`;
  }
  return undefined;
}
