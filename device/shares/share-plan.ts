// SPDX-License-Identifier: Apache-2.0
/**
 * How the resources of the adapter are divided: plain data (US8484392: base address registers, numPCB registers, TVL mapping table, credit registers). A
 * request is tried out on a copy, so that it is done as a whole or not at all. What nobody has is unallocated, which is what all share.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';

/** No function: the lane is shared. */
export const NOBODY = -1;
/** `sharedCredits` of a lane: bits for either kind. */
export const SHARED_EXECUTION = 1;
export const SHARED_COMPLETION = 2;
export const SHARED_CREDITS_ALL = SHARED_EXECUTION | SHARED_COMPLETION;

/** How much there is. */
export interface ShareLimits {
  /** VCBs of the VCB space. */
  readonly vcbs: number;
  /** Pages of a function's collect BAR that may be VCBs: more cannot be addressed. */
  readonly vcbsPerFunction: number;
  readonly pcbs: number;
  readonly schedulerBuffers: number;
  readonly executionCredits: number;
  readonly completionCredits: number;
  /** Commands the longest virtual kick list takes. */
  readonly listSize: number;
}

/** The share of a function. */
export interface FunctionShare {
  /** First VCB in the VCB space (BAR). */
  vcbBase: number;
  vcbs: number;
  /** First VCB of QoS level 1, counted from the base (sub-BAR); at or above `vcbs`: level 1 has none. */
  vcbDivider: number;
  pcbs: number;
  /** PCBs guaranteed to each QoS level; the rest of `pcbs` is shared by the levels. */
  readonly levelPcbs: number[];
  schedulerBuffers: number;
}

/** A transmit virtual lane: whose it is and what it has. */
export interface LaneShare {
  /** Number of the function that it is allocated to, or NOBODY. */
  owner: number;
  /** One bit for each QoS level of the owner that is mapped to it. A level without lanes takes all of the function's. */
  levels: number;
  /** Allocated to the dedicated buffers. */
  dedicated: boolean;
  executionCredits: number;
  completionCredits: number;
  sharedCredits: number;
  listSize: number;
  weight: number;
}

export class SharePlan {
  readonly limits: ShareLimits;
  readonly functions: readonly FunctionShare[];
  readonly lanes: readonly LaneShare[];

  constructor(limits: ShareLimits, functions: readonly FunctionShare[], lanes: readonly LaneShare[]) {
    this.limits = limits;
    this.functions = functions;
    this.lanes = lanes;
  }

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

  get executionUnallocated(): number {
    return this.limits.executionCredits - sum(this.lanes, (lane) => lane.executionCredits);
  }

  get completionUnallocated(): number {
    return this.limits.completionCredits - sum(this.lanes, (lane) => lane.completionCredits);
  }

  /** Numbers of the lanes that `choose` chooses. */
  findLanes(choose: (lane: LaneShare) => boolean): number[] {
    const found: number[] = [];
    this.lanes.forEach((lane, number) => {
      if (choose(lane)) found.push(number);
    });
    return found;
  }

  lanesOf(functionNumber: number): number[] {
    return this.findLanes((lane) => lane.owner === functionNumber);
  }

  /** Lanes of functions that have none of their own. */
  get lanesShared(): number[] {
    return this.findLanes((lane) => lane.owner === NOBODY && !lane.dedicated);
  }

  get lanesDedicated(): number[] {
    return this.findLanes((lane) => lane.dedicated);
  }

  /** Lanes the map gives to a level; none: it takes all of the function's. */
  lanesOfLevel(functionNumber: number, qosLevel: number): number[] {
    return this.findLanes((lane) => lane.owner === functionNumber && (lane.levels & (1 << qosLevel)) !== 0);
  }

  /** Lanes that commands of a level take. */
  lanesOpenTo(functionNumber: number, qosLevel: number): number[] {
    const mapped = this.lanesOfLevel(functionNumber, qosLevel);
    if (mapped.length > 0) return mapped;
    const owned = this.lanesOf(functionNumber);
    return owned.length > 0 ? owned : this.lanesShared;
  }

  /** VCBs of a QoS level: those below the divider, or from it on. */
  vcbsOfLevel(functionNumber: number, qosLevel: number): number {
    const { vcbs, vcbDivider } = this.functions[functionNumber];
    const below = Math.min(vcbs, vcbDivider);
    return qosLevel === 0 ? below : vcbs - below;
  }

  /** Bits of the QoS levels to which lanes were mapped by name: new lanes of the function go to these. */
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
