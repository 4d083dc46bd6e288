// SPDX-License-Identifier: Apache-2.0
/**
 * A share manager over units that only record their settings, so that share requests (US 8,484,392
 * par. 62-86) can be tested without an adapter and by the thousand. Used by the tests of `shares/`.
 */
import { crc32 } from 'node:zlib';
import { RESOURCE_NO_LEVEL } from '../../protocol/layout/gen/constants.gen.ts';
import {
  encodeResourceChange,
  newResourceChange,
  RESOURCE_CHANGE_SIZE,
  type ResourceChange,
} from '../../protocol/layout/gen/resource-change.gen.ts';
import { LANE_WORDS, type LaneMask } from '../lane/lane-set.ts';
import type { Settings } from '../shares/setting-changes.ts';
import type { Requester } from '../shares/share-changes.ts';
import { maskOf, ShareManager } from '../shares/share-manager.ts';
import { type FunctionShare, type LaneShare, NO_OWNER, type ShareLimits, SharePlan } from '../shares/share-plan.ts';
import type { ShareUnits } from '../shares/share-units.ts';

/** Totals of the modelled adapter. */
export const LIMITS: ShareLimits = {
  vcbs: 128,
  vcbsPerFunction: 64,
  pcbs: 96,
  schedulerBuffers: 16,
  executionCredits: 64,
  completionCredits: 256,
  listSize: 112,
  sendContexts: 20,
  sendBlocks: 48,
};

/** Entries of the scheduler buffer of each modelled function. */
export const DOORBELL_ENTRIES = 16;

/** Units that record the last settings they were given. */
export class ModelUnits implements ShareUnits {
  readonly functions: FunctionShare[];
  readonly owned: number[][];
  readonly levels: number[][][];
  dedicated: number[] = maskOf([]);
  readonly lanes: LaneShare[];
  /** Functions notified that their share changed, in order. */
  readonly notified: number[] = [];
  /** VCB numbers still in use, with the function that holds each. */
  readonly held = new Map<number, number>();
  readonly activity: number[];
  readonly busy: boolean[];
  readonly lentPcbs = new Set<number>();
  settings: Settings;

  constructor(plan: SharePlan) {
    const { functions, lanes } = plan.copy();
    this.functions = [...functions];
    this.lanes = [...lanes];
    this.owned = functions.map((_, functionNumber) => maskOf(plan.lanesOf(functionNumber)));
    this.levels = functions.map((_, functionNumber) =>
      [0, 1].map((level) => maskOf(plan.lanesOfLevel(functionNumber, level))),
    );
    this.activity = functions.map(() => 0);
    this.busy = functions.map(() => false);
    const doorbells = {
      policy: 1,
      linkCheck: 0,
      adaptive: 0,
      hostQueue: 0,
      spillBuffered: 0,
      spillCommands: 0,
      low: 2,
      high: 8,
      entries: DOORBELL_ENTRIES,
    };
    this.settings = {
      control: 0,
      doorbells: functions.map(() => ({ ...doorbells })),
      hasLaneTable: false,
      invalidEntries: functions.map(() => 0),
    };
  }

  isHeldByOther(functionNumber: number, base: number, count: number): boolean {
    for (const [vcb, holder] of this.held)
      if (holder !== functionNumber && vcb >= base && vcb < base + count) return true;
    return false;
  }

  placeVcbs(functionNumber: number, vcbBase: number, vcbs: number): void {
    Object.assign(this.functions[functionNumber], { vcbBase, vcbs });
  }

  getVcbDivider(functionNumber: number): number {
    return this.functions[functionNumber].vcbDivider;
  }

  setVcbDivider(functionNumber: number, vcbDivider: number): void {
    this.functions[functionNumber].vcbDivider = vcbDivider;
  }

  setPcbs(functionNumber: number, pcbs: number, level0: number, level1: number): void {
    Object.assign(this.functions[functionNumber], { pcbs, levelPcbs: [level0, level1] });
    const sum = this.functions.reduce((total, share) => total + share.pcbs, 0);
    if (sum > LIMITS.pcbs) throw new Error(`more PCBs are given than there are, for a moment: ${sum}`);
  }

  setSchedulerBuffers(functionNumber: number, schedulerBuffers: number): void {
    this.functions[functionNumber].schedulerBuffers = schedulerBuffers;
  }

  setSendShare(functionNumber: number, sendContexts: number, sendBlocks: number): void {
    Object.assign(this.functions[functionNumber], { sendContexts, sendBlocks });
  }

  setOwnedLanes(functionNumber: number, mask: LaneMask): void {
    this.owned[functionNumber] = Array.from(mask);
    for (let word = 0; word < LANE_WORDS; word++)
      for (let other = 0; other < this.owned.length; other++)
        if (other !== functionNumber && (this.owned[other][word] & this.owned[functionNumber][word]) !== 0)
          throw new Error(`functions ${functionNumber} and ${other} own the same lane, for a moment`);
  }

  setLevelLanes(functionNumber: number, qosLevel: number, mask: LaneMask): void {
    this.levels[functionNumber][qosLevel] = Array.from(mask);
  }

  setDedicatedLanes(mask: LaneMask): void {
    this.dedicated = Array.from(mask);
  }

  setLane(lane: number, share: LaneShare): void {
    const { executionCredits, completionCredits, sharedCredits, listSize, weight } = share;
    Object.assign(this.lanes[lane], { executionCredits, completionCredits, sharedCredits, listSize, weight });
  }

  shareChanged(functionNumber: number): void {
    this.notified.push(functionNumber);
  }

  getActivity(functionNumber: number): number {
    return this.activity[functionNumber];
  }

  isBusy(functionNumber: number): boolean {
    return this.busy[functionNumber];
  }

  lendPcbs(functionNumber: number): void {
    this.lentPcbs.add(functionNumber);
  }

  askBackPcbs(functionNumber: number): void {
    this.lentPcbs.delete(functionNumber);
  }

  readSettings(): Settings {
    return structuredClone(this.settings);
  }

  applySettings(settings: Settings): void {
    this.settings = structuredClone(settings);
  }
}

/** A plan with the given function shares, adjacent in the VCB space, and lanes without owner. */
export function makePlan(
  shares: readonly Partial<FunctionShare>[],
  limits: ShareLimits = LIMITS,
  laneCount = 64,
): SharePlan {
  let vcbBase = 0;
  const functions = shares.map((share): FunctionShare => {
    const none = { vcbs: 0, pcbs: 0, levelPcbs: [0, 0], schedulerBuffers: 0, sendContexts: 0, sendBlocks: 0 };
    const made = { ...none, vcbBase, vcbDivider: 64, ...share };
    vcbBase += made.vcbs;
    return made;
  });
  const lane = { owner: NO_OWNER, levels: 0, dedicated: false, executionCredits: 0, completionCredits: 0 };
  const lanes = Array.from(
    { length: laneCount },
    (): LaneShare => ({ ...lane, sharedCredits: 3, listSize: limits.listSize, weight: 1 }),
  );
  return new SharePlan(limits, functions, lanes);
}

/** A manager and its units. */
export function makeModel(plan: SharePlan): { manager: ShareManager; units: ModelUnits } {
  const units = new ModelUnits(plan);
  return { manager: new ShareManager(units, plan), units };
}

/** A change of a whole function or lane, unless `more` names a QoS level. */
export function change(
  resource: number,
  target: number,
  amount: number,
  more: Partial<ResourceChange> = {},
): ResourceChange {
  return { ...newResourceChange(), resource, target, amount, qosLevel: RESOURCE_NO_LEVEL, ...more };
}

/** The bytes of a request of the host. */
export function encodeChanges(changes: readonly ResourceChange[]): Uint8Array {
  const bytes = new Uint8Array(changes.length * RESOURCE_CHANGE_SIZE);
  const view = new DataView(bytes.buffer);
  for (const [index, one] of changes.entries()) encodeResourceChange(view, index * RESOURCE_CHANGE_SIZE, one);
  return bytes;
}

/** A guest of function `number` as the requester. */
export function guest(number: number): Requester {
  return { host: false, function: number };
}

/** A checksum of the plan and of all settings of the units. */
export function digest(model: ReturnType<typeof makeModel>): string {
  const { manager, units } = model;
  const { functions, owned, levels, dedicated, lanes, settings } = units;
  const state = JSON.stringify([manager.plan, functions, owned, levels, dedicated, lanes, settings]);
  return crc32(state).toString(16);
}

/**
 * Describes the first setting that differs from the plan, or the first total that the plan exceeds;
 * undefined if there is none.
 */
export function findDisagreement({ manager, units }: ReturnType<typeof makeModel>): string | undefined {
  const { plan } = manager;
  const { limits } = plan;
  if (JSON.stringify(plan.functions) !== JSON.stringify(units.functions)) return 'the functions';
  for (const [functionNumber, share] of plan.functions.entries()) {
    if (units.owned[functionNumber].join() !== maskOf(plan.lanesOf(functionNumber)).join())
      return `lanes of function ${functionNumber}`;
    for (const level of [0, 1])
      if (units.levels[functionNumber][level].join() !== maskOf(plan.lanesOfLevel(functionNumber, level)).join())
        return `lanes of level ${level} of function ${functionNumber}`;
    if (share.levelPcbs[0] + share.levelPcbs[1] > share.pcbs || share.levelPcbs.some((pcbs) => pcbs < 0))
      return `PCBs of the levels of function ${functionNumber}`;
    if (share.vcbBase < 0 || share.vcbBase + share.vcbs > limits.vcbs) return `VCBs of function ${functionNumber}`;
    for (const other of plan.functions.slice(functionNumber + 1))
      if (Math.max(share.vcbBase, other.vcbBase) < Math.min(share.vcbBase + share.vcbs, other.vcbBase + other.vcbs))
        return `VCBs of function ${functionNumber} overlap`;
    if (plan.lanesOf(functionNumber).length + plan.lanesShared.length === 0)
      return `function ${functionNumber} has no lane`;
    if (share.schedulerBuffers + plan.schedulerBuffersUnallocated === 0)
      return `function ${functionNumber} has no buffer`;
  }
  if (units.dedicated.join() !== maskOf(plan.lanesDedicated).join()) return 'lanes of the dedicated buffers';
  for (const left of [
    plan.pcbsUnallocated,
    plan.executionUnallocated,
    plan.completionUnallocated,
    plan.vcbsUnallocated,
    plan.sendContextsUnallocated,
    plan.sendBlocksUnallocated,
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
