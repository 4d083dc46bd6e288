// SPDX-License-Identifier: Apache-2.0
/**
 * Allocation and use of the adapter's resources as plain data (the plan of `shares/share-plan.ts`),
 * for `vuhca resources show` and readers of its JSON.
 */
import { PAGE_BYTES, QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { getCsrAdapterControlFreezeSends } from '../../../protocol/layout/gen/registers.gen.ts';
import { linkCheckName, overflowPolicyName } from '../../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { NO_OWNER, SHARED_COMPLETION, SHARED_EXECUTION, type SharePlan } from '../../hca/shares/share-plan.ts';

export type ResourceReport = ReturnType<typeof reportResources>;

const levels = Array.from({ length: QOS_LEVELS }, (_, level) => level);

/** Totals, unallocated amounts, and the share of each function and lane. */
export function reportResources(adapter: Adapter) {
  const { plan } = adapter.shareManager;
  const { limits } = plan;
  return {
    unallocated: {
      vcbs: plan.vcbsUnallocated,
      pcbs: plan.pcbsUnallocated,
      schedulerBuffers: plan.schedulerBuffersUnallocated,
      sendContexts: plan.sendContextsUnallocated,
      sendBlocks: plan.sendBlocksUnallocated,
      lanes: plan.lanesShared,
      executionCredits: plan.executionUnallocated,
      completionCredits: plan.completionUnallocated,
    },
    total: {
      vcbs: limits.vcbs,
      pcbs: limits.pcbs,
      schedulerBuffers: limits.schedulerBuffers,
      sendContexts: limits.sendContexts,
      sendBlocks: limits.sendBlocks,
      lanes: plan.lanes.length,
      executionCredits: limits.executionCredits,
      completionCredits: limits.completionCredits,
    },
    disabled: adapter.disabled,
    returnShares: adapter.shareAdjuster.returnShares,
    lendIdle: adapter.shareAdjuster.lendIdle,
    freezeSends: getCsrAdapterControlFreezeSends(adapter.control) === 1,
    dedicatedLanes: plan.lanesDedicated,
    laneTable: reportLaneTable(adapter),
    functions: plan.functions.map((_, number) => reportShare(adapter, number)),
    vcbAddresses: reportAddresses(plan),
    lanes: plan.lanes.map((_, number) => reportLane(adapter, number)),
  };
}

/** The lane table in host memory (US 8,484,392 par. 74), if there is one. */
function reportLaneTable({ laneTable, lanes, functions }: Adapter) {
  const { address, reads, refused } = laneTable;
  if (address === 0) return undefined;
  const invalid = functions.flatMap((_, number) => (lanes.map.isInvalid(number) ? [number] : []));
  return { address, reads, refused, invalid };
}

/** The VCB space by address: the part of each level, in bytes, ascending (US 8,484,392 par. 59). */
function reportAddresses(plan: SharePlan) {
  const parts = plan.functions.flatMap(({ vcbBase }, number) => {
    const ofLevel0 = plan.vcbsOfLevel(number, 0);
    return levels.map((level) => {
      const from = (vcbBase + (level === 0 ? 0 : ofLevel0)) * PAGE_BYTES;
      return { from, end: from + plan.vcbsOfLevel(number, level) * PAGE_BYTES, function: number, level };
    });
  });
  return parts.filter(({ from, end }) => end > from).sort((left, right) => left.from - right.from);
}

function reportShare(adapter: Adapter, number: number) {
  const { shareManager, collectBuffers, lanes } = adapter;
  const { plan } = shareManager;
  const { vcbBase, vcbs, pcbs, levelPcbs, schedulerBuffers, sendContexts, sendBlocks } = plan.functions[number];
  const { memory } = adapter.sendContexts;
  return {
    number,
    vcbBase,
    vcbs,
    vcbsInUse: adapter.functions[number].collect.inUseCount,
    pcbs,
    pcbsInUse: levels.reduce((sum, level) => sum + collectBuffers.getInUse(number, level), 0),
    schedulerBuffers,
    schedulerBuffersInUse: adapter.schedulerBuffers.getInUse(number, 0),
    sendContexts,
    sendContextsInUse: memory.contextsUsed[number],
    sendBlocks,
    sendBlocksInUse: memory.blocksUsed[number],
    doorbells: reportDoorbells(adapter, number),
    lanes: plan.lanesOf(number),
    lent: shareManager.isLent(number),
    executionCreditsUsed: lanes.execution.functions[number].used,
    completionCreditsUsed: lanes.completion.functions[number].used,
    levels: levels.map((level) => ({
      vcbs: plan.vcbsOfLevel(number, level),
      pcbs: levelPcbs[level],
      pcbsInUse: collectBuffers.getInUse(number, level),
      lanes: plan.lanesOpenTo(number, level),
    })),
  };
}

/** Doorbell policy of the function for when resources run short. */
function reportDoorbells(adapter: Adapter, number: number) {
  const settings = adapter.functions[number].doorbellSettings;
  const { policy, linkCheck, adaptive, hostQueue, spillBuffered, spillCommands, low, high, entries } = settings;
  return {
    policy: overflowPolicyName(policy),
    linkCheck: linkCheckName(linkCheck),
    adaptive: adaptive === 1,
    hostQueue: hostQueue === 1,
    spillBuffered: spillBuffered === 1,
    spillCommands: spillCommands === 1,
    low,
    high,
    entries,
  };
}

function reportLane({ shareManager, lanes }: Adapter, number: number) {
  const share = shareManager.plan.lanes[number];
  const { execution, completion } = lanes;
  return {
    number,
    owner: share.owner === NO_OWNER ? undefined : share.owner,
    dedicated: share.dedicated,
    weight: share.weight,
    executionCredits: share.executionCredits,
    executionCreditsUsed: execution.lanes[number].privateUsed + execution.lanes[number].sharedUsed,
    completionCredits: share.completionCredits,
    completionCreditsUsed: completion.lanes[number].privateUsed + completion.lanes[number].sharedUsed,
    sharedExecution: (share.sharedCredits & SHARED_EXECUTION) !== 0,
    sharedCompletion: (share.sharedCredits & SHARED_COMPLETION) !== 0,
    listLength: lanes.lanes[number].length,
    listSize: share.listSize,
    launches: lanes.lanes[number].launches,
  };
}
