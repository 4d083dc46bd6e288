// SPDX-License-Identifier: Apache-2.0
/**
 * Changes of a plan by a resource request: allocation by the virtual machine manager
 * (US 8,484,392 par. 65-77, figure 4) and the split of a share by its virtual machine (par. 78-86,
 * figure 5). The changes of a request are made in order, so a later change may take what an earlier
 * one released. `ShareManager` calls it on a copy of its plan.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeResourceChange,
  newResourceChange,
  RESOURCE_CHANGE_QOS_LEVEL_OFFSET,
  RESOURCE_CHANGE_RESOURCE_OFFSET,
  RESOURCE_CHANGE_SIZE,
  RESOURCE_CHANGE_TARGET_OFFSET,
  RESOURCE_CHANGE_WORD_OFFSET,
  type ResourceChange,
} from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import {
  changeDedicatedMap,
  changeLane,
  changeLaneCount,
  changeLaneMap,
  findStarvedLane,
  findUnsharedLanes,
} from './lane-changes.ts';
import {
  adapterSettingKinds,
  changeSetting,
  findBadThreshold,
  functionSettingKinds,
  type Settings,
} from './setting-changes.ts';
import type { SharePlan } from './share-plan.ts';
import { badAmount, refuse, type ShareRefusal } from './share-refusal.ts';
import { findPlace, isFree, type VcbReservations } from './vcb-placement.ts';

/**
 * Source of a resource request. The host acts as the virtual machine manager and may also split the
 * share of a function.
 */
export type ShareRequester = { readonly host: true } | { readonly host: false; readonly function: number };

export const HOST: ShareRequester = { host: true };

/** A refused change, by its index in the request. */
export interface RequestRefusal extends ShareRefusal {
  readonly index: number;
}

const laneKinds: readonly number[] = [
  ResourceKind.TVL_EXECUTION_CREDITS,
  ResourceKind.TVL_COMPLETION_CREDITS,
  ResourceKind.TVL_SHARED_CREDITS,
  ResourceKind.TVL_LIST_SIZE,
  ResourceKind.TVL_WEIGHT,
];
/** Resources that can also be allocated to a QoS level. */
const sharedKinds: readonly number[] = [ResourceKind.VCBS, ResourceKind.PCBS, ResourceKind.TVLS, ResourceKind.TVL_MAP];
const functionKinds: readonly number[] = [
  ...sharedKinds,
  ResourceKind.VCB_BASE,
  ResourceKind.SCHEDULER_BUFFERS,
  ResourceKind.SEND_CONTEXTS,
  ResourceKind.SEND_BLOCKS,
  ResourceKind.TVL_TABLE_ENTRY,
];
const mapKinds: readonly number[] = [ResourceKind.TVL_MAP, ResourceKind.DEDICATED_TVL_MAP];
const settingKinds: readonly number[] = [...adapterSettingKinds, ...functionSettingKinds];
const knownKinds: readonly number[] = [...laneKinds, ...functionKinds, ResourceKind.DEDICATED_TVL_MAP, ...settingKinds];

/** Decodes consecutive changes of a request. */
export function decodeChanges(bytes: Uint8Array): ResourceChange[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.byteLength / RESOURCE_CHANGE_SIZE) }, (_, index) =>
    decodeResourceChange(view, index * RESOURCE_CHANGE_SIZE, newResourceChange()),
  );
}

/** What a request changes. */
export interface Division {
  readonly plan: SharePlan;
  readonly settings: Settings;
}

/**
 * Makes all changes on plan and settings. After a refusal both are half changed and must be
 * discarded.
 */
export function makeChanges(
  { plan, settings }: Division,
  reserved: VcbReservations,
  requester: ShareRequester,
  changes: readonly ResourceChange[],
): RequestRefusal | undefined {
  const before = plan.copy();
  for (const [index, change] of changes.entries()) {
    const refusal =
      findFault(plan, requester, change) ?? makeChange(plan, reserved, change) ?? changeSetting(settings, change);
    if (refusal !== undefined) return { ...refusal, index };
  }
  // Credits may be changed before or after the permission to share: the final state of the lane
  // counts, and its last change is blamed. The same holds for the words of a lane map and for
  // thresholds.
  for (let index = changes.length - 1; index >= 0; index--) {
    const change = changes[index];
    const refusal = laneKinds.includes(change.resource)
      ? findStarvedLane(plan, change)
      : (findUnsharedLanes(plan, before, change) ?? findBadThreshold(settings, change));
    if (refusal !== undefined) return { ...refusal, index };
  }
  return undefined;
}

/** Checks all of a change but its amount: fields first, then rights. */
function findFault(plan: SharePlan, requester: ShareRequester, change: ResourceChange): ShareRefusal | undefined {
  const { resource, qosLevel, word, target } = change;
  if (!knownKinds.includes(resource))
    return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_RESOURCE_OFFSET, ResourceKind.TVL_TABLE_ENTRY);
  const level = qosLevel !== RESOURCE_NO_LEVEL;
  const permitted =
    requester.host ||
    (!level && requester.function === PHYSICAL_FUNCTION) ||
    ((level || functionSettingKinds.includes(resource)) && requester.function === target);
  if (!permitted) return refuse(ManagementStatus.NOT_PERMITTED, RESOURCE_CHANGE_RESOURCE_OFFSET, 0);
  if (level && !sharedKinds.includes(resource))
    return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_QOS_LEVEL_OFFSET, RESOURCE_NO_LEVEL);
  if (level && qosLevel >= QOS_LEVELS)
    return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_QOS_LEVEL_OFFSET, QOS_LEVELS - 1);
  if (word !== 0 && !mapKinds.includes(resource))
    return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_WORD_OFFSET, 0);
  const targets = countTargets(plan, resource);
  if (target >= targets) return refuse(ManagementStatus.BAD_OBJECT, RESOURCE_CHANGE_TARGET_OFFSET, targets - 1);
  return undefined;
}

/** Number of targets: lanes, functions, or the one map or the one adapter. */
function countTargets(plan: SharePlan, resource: number): number {
  if (laneKinds.includes(resource)) return plan.lanes.length;
  return functionKinds.includes(resource) || functionSettingKinds.includes(resource) ? plan.functions.length : 1;
}

/** Changes the plan. A setting is no part of it. */
function makeChange(plan: SharePlan, reserved: VcbReservations, change: ResourceChange): ShareRefusal | undefined {
  const level = change.qosLevel !== RESOURCE_NO_LEVEL;
  switch (change.resource) {
    case ResourceKind.VCBS:
      return level ? changeLevelVcbs(plan, change) : changeVcbs(plan, reserved, change);
    case ResourceKind.VCB_BASE:
      return changeVcbBase(plan, reserved, change);
    case ResourceKind.PCBS:
      return level ? changeLevelPcbs(plan, change) : changePcbs(plan, change);
    case ResourceKind.TVLS:
      return changeLaneCount(plan, change);
    case ResourceKind.TVL_MAP:
      return changeLaneMap(plan, change);
    case ResourceKind.SCHEDULER_BUFFERS:
      return changeSchedulerBuffers(plan, change);
    case ResourceKind.DEDICATED_TVL_MAP:
      return changeDedicatedMap(plan, change);
    case ResourceKind.SEND_CONTEXTS:
      return changeSendShare(plan, change, 'sendContexts', plan.sendContextsUnallocated);
    case ResourceKind.SEND_BLOCKS:
      return changeSendShare(plan, change, 'sendBlocks', plan.sendBlocksUnallocated);
    default:
      return laneKinds.includes(change.resource) ? changeLane(plan, change) : undefined;
  }
}

/** The sub-BAR does not move: added VCBs belong to the level that has the last one. */
function changeVcbs(plan: SharePlan, reserved: VcbReservations, change: ResourceChange): ShareRefusal | undefined {
  const { target, amount } = change;
  if (amount > plan.limits.vcbsPerFunction) return badAmount(ManagementStatus.BAD_FIELD, plan.limits.vcbsPerFunction);
  const share = plan.functions[target];
  const place = findPlace(plan, reserved, target, amount);
  if ('base' in place) {
    share.vcbBase = place.base;
    share.vcbs = amount;
    return undefined;
  }
  if (place.converging) return badAmount(ManagementStatus.CONVERGING, share.vcbs);
  return badAmount(ManagementStatus.NO_RESOURCES, Math.min(place.largest, plan.limits.vcbsPerFunction));
}

function changeVcbBase(plan: SharePlan, reserved: VcbReservations, change: ResourceChange): ShareRefusal | undefined {
  const { target, amount } = change;
  const share = plan.functions[target];
  const last = plan.limits.vcbs - share.vcbs;
  if (amount > last) return badAmount(ManagementStatus.BAD_FIELD, last);
  if (!isFree(plan, target, amount, share.vcbs)) return badAmount(ManagementStatus.NO_RESOURCES, share.vcbBase);
  if (reserved.isHeldByOther(target, amount, share.vcbs)) return badAmount(ManagementStatus.CONVERGING, share.vcbBase);
  share.vcbBase = amount;
  return undefined;
}

/**
 * Level 0 has the VCBs below the divider, level 1 those above: one level gains what the other
 * loses.
 */
function changeLevelVcbs(plan: SharePlan, { target, qosLevel, amount }: ResourceChange): ShareRefusal | undefined {
  const share = plan.functions[target];
  if (amount > share.vcbs) return badAmount(ManagementStatus.SHARE_EXCEEDED, share.vcbs);
  const divider = qosLevel === 0 ? amount : share.vcbs - amount;
  share.vcbDivider = divider === share.vcbs ? plan.limits.vcbsPerFunction : divider;
  return undefined;
}

/**
 * Added PCBs are shared by the levels; removed ones come from the shared PCBs first, then from
 * level 0, then from level 1.
 */
function changePcbs(plan: SharePlan, { target, amount }: ResourceChange): ShareRefusal | undefined {
  const share = plan.functions[target];
  const limit = share.pcbs + plan.pcbsUnallocated;
  if (amount > limit) return badAmount(ManagementStatus.NO_RESOURCES, limit);
  share.pcbs = amount;
  share.levelPcbs[1] = Math.min(share.levelPcbs[1], amount);
  share.levelPcbs[0] = Math.min(share.levelPcbs[0], amount - share.levelPcbs[1]);
  return undefined;
}

function changeLevelPcbs(plan: SharePlan, { target, qosLevel, amount }: ResourceChange): ShareRefusal | undefined {
  const share = plan.functions[target];
  const limit = share.pcbs - share.levelPcbs[1 - qosLevel];
  if (amount > limit) return badAmount(ManagementStatus.SHARE_EXCEEDED, limit);
  share.levelPcbs[qosLevel] = amount;
  return undefined;
}

/** A function without a buffer of its own uses unallocated ones: one buffer must stay. */
function changeSchedulerBuffers(plan: SharePlan, { target, amount }: ResourceChange): ShareRefusal | undefined {
  const share = plan.functions[target];
  const needy = plan.functions.some((other) => other !== share && other.schedulerBuffers === 0);
  const limit = share.schedulerBuffers + Math.max(0, plan.schedulerBuffersUnallocated - (needy ? 1 : 0));
  if (amount > limit) return badAmount(ManagementStatus.NO_RESOURCES, limit);
  share.schedulerBuffers = amount;
  return undefined;
}

/** A share may become less than its use: the function then gets no context before it frees some. */
function changeSendShare(
  plan: SharePlan,
  { target, amount }: ResourceChange,
  kind: 'sendContexts' | 'sendBlocks',
  unallocated: number,
): ShareRefusal | undefined {
  const share = plan.functions[target];
  const limit = share[kind] + unallocated;
  if (amount > limit) return badAmount(ManagementStatus.NO_RESOURCES, limit);
  share[kind] = amount;
  return undefined;
}
