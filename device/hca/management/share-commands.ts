// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that request and query shares of resources (US 8,484,392 par. 65, 79 and 81).
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import { RESOURCE_CHANGE_SIZE } from '../../../protocol/layout/gen/resource-change.gen.ts';
import {
  encodeResourceShare,
  newResourceShare,
  RESOURCE_SHARE_TVL_MAP_DEDICATED_OFFSET,
  RESOURCE_SHARE_TVL_MAP_LEVEL0_OFFSET,
  RESOURCE_SHARE_TVL_MAP_LEVEL1_OFFSET,
  RESOURCE_SHARE_TVL_MAP_OFFSET,
} from '../../../protocol/layout/gen/resource-share.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import { decodeChanges } from '../shares/share-changes.ts';
import { maskOf } from '../shares/share-manager.ts';
import type { SharePlan } from '../shares/share-plan.ts';
import type { CommandContext } from './command-context.ts';

const LEVEL_MAP_OFFSETS = [RESOURCE_SHARE_TVL_MAP_LEVEL0_OFFSET, RESOURCE_SHARE_TVL_MAP_LEVEL1_OFFSET];

/** REQUEST_RESOURCES: makes all changes of the payload, or none and blames the field at fault. */
export function requestResources(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  const { buffer, byteOffset } = context.command;
  const bytes = context.header.modifier * RESOURCE_CHANGE_SIZE;
  const changes = decodeChanges(new Uint8Array(buffer, byteOffset + context.payload, bytes));
  const refusal = adapter.shareManager.request({ host: false, function: issuer.number }, changes);
  if (refusal === undefined) return ManagementStatus.OK;
  return context.badPayload(refusal.status, refusal.index * RESOURCE_CHANGE_SIZE + refusal.offset, refusal.limit);
}

/**
 * QUERY_RESOURCES: a virtual function sees its own share, but neither other shares nor unallocated
 * amounts.
 */
export function queryResources(context: CommandContext): ManagementStatus {
  const { adapter, issuer, responseView: view } = context;
  const number = context.header.objectNumber;
  const physical = issuer.number === PHYSICAL_FUNCTION;
  if (number !== issuer.number && !physical) return blameObject(context, ManagementStatus.NOT_PERMITTED, 0);
  const { plan } = adapter.shareManager;
  if (number >= plan.functions.length)
    return blameObject(context, ManagementStatus.BAD_OBJECT, plan.functions.length - 1);
  const share = plan.functions[number];
  const record = newResourceShare();
  Object.assign(record, {
    function: number,
    vcbBase: share.vcbBase,
    vcbs: share.vcbs,
    levelVcbs: plan.vcbsOfLevel(number, 1),
    vcbsInUse: adapter.functions[number].collect.inUseCount,
    pcbs: share.pcbs,
    pcbsLevel0: share.levelPcbs[0],
    pcbsLevel1: share.levelPcbs[1],
    pcbsInUseLevel0: adapter.collectBuffers.getInUse(number, 0),
    pcbsInUseLevel1: adapter.collectBuffers.getInUse(number, 1),
    schedulerBuffers: share.schedulerBuffers,
    tvls: plan.lanesOf(number).length,
    sendContexts: share.sendContexts,
    sendContextsInUse: adapter.sendContexts.memory.contextsUsed[number],
    sendBlocks: share.sendBlocks,
    sendBlocksInUse: adapter.sendContexts.memory.blocksUsed[number],
    ...(physical ? describeUnallocated(plan) : {}),
  });
  encodeResourceShare(view, 0, record);
  setMap(view, RESOURCE_SHARE_TVL_MAP_OFFSET, plan.lanesOf(number));
  for (let level = 0; level < QOS_LEVELS; level++)
    setMap(view, LEVEL_MAP_OFFSETS[level], plan.lanesOpenTo(number, level));
  if (physical) setMap(view, RESOURCE_SHARE_TVL_MAP_DEDICATED_OFFSET, plan.lanesDedicated);
  return ManagementStatus.OK;
}

function describeUnallocated(plan: SharePlan) {
  return {
    functions: plan.functions.length,
    vcbsUnallocated: plan.vcbsUnallocated,
    pcbsShared: plan.pcbsUnallocated,
    tvlsShared: plan.lanesShared.length,
    executionCreditsShared: plan.executionUnallocated,
    completionCreditsShared: plan.completionUnallocated,
    sendContextsUnallocated: plan.sendContextsUnallocated,
    sendBlocksUnallocated: plan.sendBlocksUnallocated,
  };
}

/** Refuses and blames the object number. */
export function blameObject(context: CommandContext, status: ManagementStatus, limit: number): ManagementStatus {
  context.badOffset = MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET;
  context.limit = limit;
  return status;
}

function setMap(view: DataView, offset: number, lanes: readonly number[]): void {
  for (const [word, bits] of maskOf(lanes).entries()) view.setUint32(offset + 4 * word, bits, true);
}
