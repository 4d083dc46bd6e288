// SPDX-License-Identifier: Apache-2.0
/**
 * The units of an adapter as the share manager sees them (US 8,484,392 par. 68, 71, 73, 75:
 * registers that a request changes), and the plan of power-on.
 */
import {
  PAGE_BYTES,
  QOS_LEVELS,
  RESOURCE_NO_LEVEL,
  SEND_CONTEXT_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { EventType, FaultKind, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { CollectUnit } from '../collect/collect-unit.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { VcbSpace } from '../collect/vcb-space.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { LaneMask } from '../lane/lane-set.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { SendContexts } from '../pio/send-contexts.ts';
import type { DoorbellSettings, Settings } from '../shares/setting-changes.ts';
import type { ShareUnits } from '../shares/share-manager.ts';
import { type LaneShare, SHARED_COMPLETION, SHARED_EXECUTION, SharePlan } from '../shares/share-plan.ts';
import { type AdapterOptions, getCollectPages, getDefaultShare } from './options.ts';

/** The units of an adapter that hold shares. */
export interface SharingUnits {
  readonly options: AdapterOptions;
  readonly vcbSpace: VcbSpace;
  readonly collectBuffers: PcbAllocator;
  readonly schedulerBuffers: PcbAllocator;
  readonly lanes: TransmitVirtualLanes;
  readonly sendContexts: SendContexts;
  readonly functions: readonly SharingFunction[];
  /** ADAPTER_CONTROL. */
  control: number;
  readonly laneTable: { readonly address: number };
}

type LaneCredits = Pick<LaneShare, 'executionCredits' | 'completionCredits' | 'sharedCredits' | 'listSize' | 'weight'>;

/** The resource that changes each field of a lane. */
const laneResources: readonly (readonly [ResourceKind, keyof LaneCredits])[] = [
  [ResourceKind.TVL_EXECUTION_CREDITS, 'executionCredits'],
  [ResourceKind.TVL_COMPLETION_CREDITS, 'completionCredits'],
  [ResourceKind.TVL_SHARED_CREDITS, 'sharedCredits'],
  [ResourceKind.TVL_LIST_SIZE, 'listSize'],
  [ResourceKind.TVL_WEIGHT, 'weight'],
];

interface SharingFunction {
  readonly underlying: UnderlyingFunction;
  readonly collect: CollectUnit;
  /** Moves the sub-BAR of the second QoS level to `offset` of the collect BAR. */
  setDivider(offset: number): void;
  /** DOORBELL_POLICY and DOORBELL_THRESHOLDS; setting it writes what differs. */
  doorbellSettings: DoorbellSettings;
}

export class AdapterUnits implements ShareUnits {
  readonly #adapter: SharingUnits;

  constructor(adapter: SharingUnits) {
    this.#adapter = adapter;
  }

  isHeldByOther(functionNumber: number, base: number, count: number): boolean {
    return this.#adapter.vcbSpace.isHeldByOther(functionNumber, base, count);
  }

  placeVcbs(functionNumber: number, base: number, count: number): void {
    this.#adapter.vcbSpace.place(functionNumber, base, count);
    this.#note(functionNumber, ResourceKind.VCBS, count);
  }

  getVcbDivider(functionNumber: number): number {
    const { qosDivider, pageCount } = this.#adapter.functions[functionNumber].collect;
    return Math.min(pageCount, Math.ceil(qosDivider / PAGE_BYTES));
  }

  setVcbDivider(functionNumber: number, vcb: number): void {
    this.#adapter.functions[functionNumber].setDivider(vcb * PAGE_BYTES);
  }

  setPcbs(functionNumber: number, total: number, level0: number, level1: number): void {
    this.#adapter.collectBuffers.setShare(functionNumber, total, level0, level1);
    this.#note(functionNumber, ResourceKind.PCBS, total);
  }

  setSchedulerBuffers(functionNumber: number, count: number): void {
    this.#adapter.schedulerBuffers.setShare(functionNumber, count, 0, 0);
    this.#note(functionNumber, ResourceKind.SCHEDULER_BUFFERS, count);
  }

  setSendShare(functionNumber: number, contexts: number, blocks: number): void {
    this.#adapter.sendContexts.memory.setShare(functionNumber, contexts, blocks);
    this.#note(functionNumber, ResourceKind.SEND_CONTEXTS, contexts);
    this.#note(functionNumber, ResourceKind.SEND_BLOCKS, blocks);
  }

  setOwnedLanes(functionNumber: number, mask: LaneMask): void {
    this.#adapter.lanes.setOwned(functionNumber, mask);
    this.#note(functionNumber, ResourceKind.TVLS, this.#adapter.lanes.map.getOwned(functionNumber).size);
  }

  setLevelLanes(functionNumber: number, qosLevel: number, mask: LaneMask): void {
    const { lanes } = this.#adapter;
    lanes.setMap(functionNumber, qosLevel, mask);
    this.#note(functionNumber, ResourceKind.TVLS, lanes.map.getMap(functionNumber, qosLevel).size, qosLevel);
  }

  setDedicatedLanes(mask: LaneMask): void {
    this.#adapter.lanes.setDedicatedMap(mask);
  }

  setLane(lane: number, share: LaneShare): void {
    const { executionCredits, completionCredits, sharedCredits, listSize, weight } = share;
    this.#noteLane(lane, share);
    this.#adapter.lanes.setLane(lane, {
      executionCredits,
      completionCredits,
      sharedExecution: (sharedCredits & SHARED_EXECUTION) !== 0,
      sharedCompletion: (sharedCredits & SHARED_COMPLETION) !== 0,
      listSize,
      weight,
    });
  }

  shareChanged(functionNumber: number): void {
    const share = { number: functionNumber, tokenLow: 0, tokenHigh: 0 };
    this.#adapter.functions[functionNumber].underlying.postAsynchronous(
      EventType.RESOURCES_CHANGED,
      share,
      FaultKind.NONE,
    );
  }

  getActivity(functionNumber: number): number {
    const { collect, underlying } = this.#adapter.functions[functionNumber];
    const { counters } = underlying;
    const asked = collect.kicks + collect.refusals + counters.doorbellsExplicit + counters.managementCommands;
    return asked + this.#adapter.lanes.functionLaunches[functionNumber];
  }

  isBusy(functionNumber: number): boolean {
    const { collectBuffers, schedulerBuffers, lanes } = this.#adapter;
    if (lanes.completion.functions[functionNumber].used > 0) return true;
    for (let level = 0; level < QOS_LEVELS; level++)
      if (collectBuffers.getInUse(functionNumber, level) + schedulerBuffers.getInUse(functionNumber, level) > 0)
        return true;
    return false;
  }

  lendPcbs(functionNumber: number): void {
    this.#adapter.collectBuffers.lend(functionNumber);
  }

  askBackPcbs(functionNumber: number): void {
    this.#adapter.collectBuffers.askBack(functionNumber);
  }

  #note(functionNumber: number, resource: ResourceKind, amount: number, qosLevel = RESOURCE_NO_LEVEL): void {
    const { timeline } = this.#adapter.functions[functionNumber].underlying;
    timeline?.note(Step.SHARE, functionNumber, resource, amount, qosLevel);
  }

  /** Notes what changes of a lane, for its owner; a shared lane concerns all functions. */
  #noteLane(lane: number, share: LaneShare): void {
    const { functions, lanes } = this.#adapter;
    if (functions[0].underlying.timeline === undefined) return;
    const owner = lanes.map.getOwner(lane);
    const concerned = owner < 0 ? functions : [functions[owner]];
    const before = this.#readLane(lane);
    for (const [resource, name] of laneResources)
      if (share[name] !== before[name])
        for (const { underlying } of concerned)
          underlying.timeline?.note(Step.LANE, underlying.number, lane, resource, share[name]);
  }

  #readLane(lane: number): LaneCredits {
    const { execution, completion, lanes } = this.#adapter.lanes;
    const shared = execution.lanes[lane].mayShare ? SHARED_EXECUTION : 0;
    return {
      executionCredits: execution.lanes[lane].private,
      completionCredits: completion.lanes[lane].private,
      sharedCredits: shared | (completion.lanes[lane].mayShare ? SHARED_COMPLETION : 0),
      listSize: lanes[lane].listSize,
      weight: lanes[lane].weight,
    };
  }

  readSettings(): Settings {
    const { control, functions, lanes, laneTable } = this.#adapter;
    return {
      control,
      doorbells: functions.map((port) => port.doorbellSettings),
      hasLaneTable: laneTable.address !== 0,
      invalidEntries: functions.map((_, functionNumber) => Number(lanes.map.isInvalid(functionNumber))),
    };
  }

  applySettings({ control, doorbells, invalidEntries }: Settings): void {
    invalidEntries.forEach((invalid, functionNumber) => {
      this.#adapter.lanes.map.setInvalid(functionNumber, invalid === 1);
    });
    doorbells.forEach((settings, functionNumber) => {
      this.#adapter.functions[functionNumber].doorbellSettings = settings;
    });
    if (control !== this.#adapter.control) this.#adapter.control = control;
  }
}

/** Gives each function its PCBs, dedicated buffers and send memory of power-on. */
export function giveDefaultShares({
  options,
  collectBuffers,
  schedulerBuffers,
  sendContexts,
}: Pick<SharingUnits, 'options' | 'collectBuffers' | 'schedulerBuffers' | 'sendContexts'>): void {
  const share = getDefaultShare(options);
  for (let number = 0; number < options.functionCount; number++) {
    collectBuffers.setShare(number, share.pcbs, ...share.pcbsGuaranteed);
    schedulerBuffers.setShare(number, share.schedulerBuffers, 0, 0);
    sendContexts.memory.setShare(number, share.sendContexts, share.sendBlocks);
  }
}

/** The plan of power-on, read from the units. */
export function readPlan(adapter: SharingUnits): SharePlan {
  const { options, vcbSpace, collectBuffers, schedulerBuffers, lanes, sendContexts } = adapter;
  const { map, execution, completion } = lanes;
  const limits = {
    vcbs: vcbSpace.size,
    vcbsPerFunction: getCollectPages(options),
    pcbs: options.pcbCount,
    schedulerBuffers: options.schedulerBufferCount,
    executionCredits: options.executionCredits,
    completionCredits: options.completionCredits,
    listSize: options.pcbCount + options.schedulerBufferCount,
    sendContexts: SEND_CONTEXT_MAX,
    sendBlocks: sendContexts.memory.blockCount,
  };
  const functions = adapter.functions.map((_, functionNumber) => ({
    vcbBase: vcbSpace.getBase(functionNumber),
    vcbs: vcbSpace.getCount(functionNumber),
    vcbDivider: limits.vcbsPerFunction,
    pcbs: collectBuffers.getTotal(functionNumber),
    levelPcbs: [0, 1].map((level) => collectBuffers.getGuaranteed(functionNumber, level)),
    schedulerBuffers: schedulerBuffers.getTotal(functionNumber),
    sendContexts: sendContexts.memory.contexts[functionNumber],
    sendBlocks: sendContexts.memory.blocks[functionNumber],
  }));
  const shares = lanes.lanes.map(({ listSize, weight }, number) => {
    const owner = map.getOwner(number);
    return {
      owner,
      levels: [0, 1].reduce((bits, level) => bits | (hasLane(map, owner, level, number) ? 1 << level : 0), 0),
      dedicated: map.dedicated.has(number),
      executionCredits: execution.lanes[number].private,
      completionCredits: completion.lanes[number].private,
      sharedCredits:
        (execution.lanes[number].mayShare ? SHARED_EXECUTION : 0) |
        (completion.lanes[number].mayShare ? SHARED_COMPLETION : 0),
      listSize,
      weight,
    };
  });
  return new SharePlan(limits, functions, shares);
}

function hasLane(map: TransmitVirtualLanes['map'], owner: number, qosLevel: number, lane: number): boolean {
  return owner >= 0 && map.getMap(owner, qosLevel).has(lane);
}
