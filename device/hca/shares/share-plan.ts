// SPDX-License-Identifier: Apache-2.0
/**
 * The division of the adapter's resources as plain data: BARs, numPCB registers, TVL mapping table
 * and credit registers (US 8,484,392 par. 42, 51, 55, 57-58 and 86). A request is tried out on a
 * copy, so that it is done as a whole or not at all. Resources that no function owns are
 * unallocated; all functions share them.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';

/** `owner` of a lane that no function owns: it is shared, or serves the dedicated buffers. */
export const NO_OWNER = -1;
/** Bits of `sharedCredits` of a lane: the kinds of credits that it may share. */
export const SHARED_EXECUTION = 1;
export const SHARED_COMPLETION = 2;
export const SHARED_CREDITS_ALL = SHARED_EXECUTION | SHARED_COMPLETION;

/** Total amounts of the adapter. */
export interface ShareLimits {
  /** Number of VCBs in the VCB space. */
  readonly vcbs: number;
  /** Pages of a function's collect BAR that may be VCBs: no more can be addressed. */
  readonly vcbsPerFunction: number;
  readonly pcbs: number;
  readonly schedulerBuffers: number;
  readonly executionCredits: number;
  readonly completionCredits: number;
  /** Capacity of the longest virtual kick list, in commands. */
  readonly listSize: number;
  readonly sendContexts: number;
  /** Blocks of the PIO send memory. */
  readonly sendBlocks: number;
}

/** The share of a function. */
export interface FunctionShare {
  /** First VCB in the VCB space (BAR). */
  vcbBase: number;
  vcbs: number;
  /**
   * First VCB of QoS level 1, counted from the base (sub-BAR); at or above `vcbs`: level 1 has
   * none.
   */
  vcbDivider: number;
  pcbs: number;
  /** PCBs guaranteed to each QoS level; the rest of `pcbs` is shared by the levels. */
  readonly levelPcbs: number[];
  schedulerBuffers: number;
  /** Send contexts and send blocks: the most that the function may have, in use or not. */
  sendContexts: number;
  sendBlocks: number;
}

/** Allocation and size of one transmit virtual lane. */
export interface LaneShare {
  /** Number of the function to which it is allocated, or NO_OWNER. */
  owner: number;
  /**
   * One bit for each QoS level of the owner that is mapped to it. A level without mapped lanes uses
   * all lanes of the function.
   */
  levels: number;
  /** Allocated to the dedicated buffers. */
  dedicated: boolean;
  executionCredits: number;
  completionCredits: number;
  sharedCredits: number;
  listSize: number;
  weight: number;
}

/** A division: one share for each function and one for each lane, and sums over them. */
export class SharePlan {
  readonly limits: ShareLimits;
  readonly functions: readonly FunctionShare[];
  readonly lanes: readonly LaneShare[];

  constructor(limits: ShareLimits, functions: readonly FunctionShare[], lanes: readonly LaneShare[]) {
    this.limits = limits;
    this.functions = functions;
    this.lanes = lanes;
  }

  /** A deep copy; only the limits are common to both. */
  copy(): SharePlan {
    const functions = this.functions.map((share) => ({ ...share, levelPcbs: [...share.levelPcbs] }));
    const lanes = this.lanes.map((lane) => ({ ...lane }));
    return new SharePlan(this.limits, functions, lanes);
  }

  get vcbsUnallocated(): number {
    return this.limits.vcbs - sum(this.functions, (share) => share.vcbs);
  }

  get pcbsUnallocated(): number {
    return this.limits.pcbs - sum(this.functions, (share) => share.pcbs);
  }

  get schedulerBuffersUnallocated(): number {
    return this.limits.schedulerBuffers - sum(this.functions, (share) => share.schedulerBuffers);
  }

  get sendContextsUnallocated(): number {
    return this.limits.sendContexts - sum(this.functions, (share) => share.sendContexts);
  }

  get sendBlocksUnallocated(): number {
    return this.limits.sendBlocks - sum(this.functions, (share) => share.sendBlocks);
  }

  get executionUnallocated(): number {
    return this.limits.executionCredits - sum(this.lanes, (lane) => lane.executionCredits);
  }

  get completionUnallocated(): number {
    return this.limits.completionCredits - sum(this.lanes, (lane) => lane.completionCredits);
  }

  /** Numbers of the lanes that satisfy `choose`, ascending. */
  findLanes(choose: (lane: LaneShare) => boolean): number[] {
    const found: number[] = [];
    this.lanes.forEach((lane, number) => {
      if (choose(lane)) found.push(number);
    });
    return found;
  }

  /** Numbers of the lanes allocated to the function. */
  lanesOf(functionNumber: number): number[] {
    return this.findLanes((lane) => lane.owner === functionNumber);
  }

  /** Numbers of the shared lanes, for functions without lanes of their own. */
  get lanesShared(): number[] {
    return this.findLanes((lane) => lane.owner === NO_OWNER && !lane.dedicated);
  }

  get lanesDedicated(): number[] {
    return this.findLanes((lane) => lane.dedicated);
  }

  /** Lanes mapped to a QoS level; an empty list means that it uses all lanes of the function. */
  lanesOfLevel(functionNumber: number, qosLevel: number): number[] {
    return this.findLanes((lane) => lane.owner === functionNumber && (lane.levels & (1 << qosLevel)) !== 0);
  }

  /** Lanes that commands of a QoS level may use. */
  lanesOpenTo(functionNumber: number, qosLevel: number): number[] {
    const mapped = this.lanesOfLevel(functionNumber, qosLevel);
    if (mapped.length > 0) return mapped;
    const owned = this.lanesOf(functionNumber);
    return owned.length > 0 ? owned : this.lanesShared;
  }

  /** Number of VCBs of a QoS level: those below the divider for level 0, the others for level 1. */
  vcbsOfLevel(functionNumber: number, qosLevel: number): number {
    const { vcbs, vcbDivider } = this.functions[functionNumber];
    const below = Math.min(vcbs, vcbDivider);
    return qosLevel === 0 ? below : vcbs - below;
  }

  /**
   * Bits of the QoS levels with an explicit lane map: lanes added to the function are mapped to
   * them.
   */
  mappedLevels(functionNumber: number): number {
    let levels = 0;
    for (let level = 0; level < QOS_LEVELS; level++)
      if (this.lanesOfLevel(functionNumber, level).length > 0) levels |= 1 << level;
    return levels;
  }
}

function sum<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}
