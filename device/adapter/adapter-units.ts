// SPDX-License-Identifier: Apache-2.0
/** The units of an adapter as the resource manager sees them, and the division they start with. */
import { PAGE_BYTES, QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import { EventType, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { CollectUnit } from '../collect/collect-unit.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { VcbSpace } from '../collect/vcb-space.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { LaneMask } from '../lane/lane-set.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import { type LaneShare, SHARED_COMPLETION, SHARED_EXECUTION, SharePlan } from '../shares/share-plan.ts';
import type { ShareUnits } from '../shares/share-units.ts';
import { type AdapterOptions, getCollectPages } from './options.ts';

/** The units of an adapter that hold shares. */
export interface SharingUnits {
  readonly options: AdapterOptions;
  readonly vcbSpace: VcbSpace;
  readonly collectBuffers: PcbAllocator;
  readonly schedulerBuffers: PcbAllocator;
  readonly lanes: TransmitVirtualLanes;
  readonly functions: readonly SharingFunction[];
}

interface SharingFunction {
  readonly underlying: UnderlyingFunction;
  readonly collect: CollectUnit;
  /** Moves the sub-BAR of the second QoS level to `offset` of the collect BAR. */
  setDivider(offset: number): void;
}

export class AdapterUnits implements ShareUnits {
  readonly #adapter: SharingUnits;

  constructor(adapter: SharingUnits) {
    this.#adapter = adapter;
  }

  isHeldByOther(owner: number, base: number, count: number): boolean {
    return this.#adapter.vcbSpace.isHeldByOther(owner, base, count);
  }

  placeVcbs(owner: number, base: number, count: number): void {
    this.#adapter.vcbSpace.place(owner, base, count);
  }

  getVcbDivider(owner: number): number {
    const { qosDivider, pageCount } = this.#adapter.functions[owner].collect;
    return Math.min(pageCount, Math.ceil(qosDivider / PAGE_BYTES));
  }

  setVcbDivider(owner: number, vcb: number): void {
    this.#adapter.functions[owner].setDivider(vcb * PAGE_BYTES);
  }

  setPcbs(owner: number, total: number, level0: number, level1: number): void {
    this.#adapter.collectBuffers.setShare(owner, total, level0, level1);
  }

  setSchedulerBuffers(owner: number, count: number): void {
    this.#adapter.schedulerBuffers.setShare(owner, count, 0, 0);
  }

  setOwnedLanes(owner: number, mask: LaneMask): void {
    this.#adapter.lanes.setOwned(owner, mask);
  }

  setLevelLanes(owner: number, qosLevel: number, mask: LaneMask): void {
    this.#adapter.lanes.setMap(owner, qosLevel, mask);
  }

  setDedicatedLanes(mask: LaneMask): void {
    this.#adapter.lanes.setDedicatedMap(mask);
  }

  setLane(lane: number, share: LaneShare): void {
    const { executionCredits, completionCredits, sharedCredits, listSize, weight } = share;
    this.#adapter.lanes.setLane(lane, {
      executionCredits,
      completionCredits,
      sharedExecution: (sharedCredits & SHARED_EXECUTION) !== 0,
      sharedCompletion: (sharedCredits & SHARED_COMPLETION) !== 0,
      listSize,
      weight,
    });
  }

  shareChanged(owner: number): void {
    const share = { number: owner, tokenLow: 0, tokenHigh: 0 };
    this.#adapter.functions[owner].underlying.postAsynchronous(EventType.RESOURCES_CHANGED, share, FaultKind.NONE);
  }

  getActivity(owner: number): number {
    const { collect, underlying } = this.#adapter.functions[owner];
    const { counters } = underlying;
    const asked = collect.kicks + collect.refusals + counters.doorbellsExplicit + counters.managementCommands;
    return asked + this.#adapter.lanes.functionLaunches[owner];
  }

  isBusy(owner: number): boolean {
    const { collectBuffers, schedulerBuffers, lanes } = this.#adapter;
    if (lanes.completion.functionUsed[owner] > 0) return true;
    for (let level = 0; level < QOS_LEVELS; level++)
      if (collectBuffers.getInUse(owner, level) + schedulerBuffers.getInUse(owner, level) > 0) return true;
    return false;
  }

  lendPcbs(owner: number): void {
    this.#adapter.collectBuffers.lend(owner);
  }

  askBackPcbs(owner: number): void {
    this.#adapter.collectBuffers.askBack(owner);
  }
}

/** Who has what at power-on, as the units themselves have it. */
export function readPlan(adapter: SharingUnits): SharePlan {
  const { options, vcbSpace, collectBuffers, schedulerBuffers, lanes } = adapter;
  const { map, execution, completion } = lanes;
  const limits = {
    vcbs: vcbSpace.size,
    vcbsPerFunction: getCollectPages(options),
    pcbs: options.pcbCount,
    schedulerBuffers: options.schedulerBufferCount,
    executionCredits: options.executionCredits,
    completionCredits: options.completionCredits,
    listSize: options.pcbCount + options.schedulerBufferCount,
  };
  const functions = adapter.functions.map((_, owner) => ({
    vcbBase: vcbSpace.getBase(owner),
    vcbs: vcbSpace.getCount(owner),
    vcbDivider: limits.vcbsPerFunction,
    pcbs: collectBuffers.getTotal(owner),
    levelPcbs: [0, 1].map((level) => collectBuffers.getGuaranteed(owner, level)),
    schedulerBuffers: schedulerBuffers.getTotal(owner),
  }));
  const shares = lanes.lanes.map(({ listSize, weight }, number) => {
    const owner = map.getOwner(number);
    return {
      owner,
      levels: [0, 1].reduce((bits, level) => bits | (hasLane(map, owner, level, number) ? 1 << level : 0), 0),
      dedicated: map.dedicated.has(number),
      executionCredits: execution.private[number],
      completionCredits: completion.private[number],
      sharedCredits:
        (execution.sharers.has(number) ? SHARED_EXECUTION : 0) |
        (completion.sharers.has(number) ? SHARED_COMPLETION : 0),
      listSize,
      weight,
    };
  });
  return new SharePlan(limits, functions, shares);
}

function hasLane(map: TransmitVirtualLanes['map'], owner: number, qosLevel: number, lane: number): boolean {
  return owner >= 0 && map.getMap(owner, qosLevel).has(lane);
}
