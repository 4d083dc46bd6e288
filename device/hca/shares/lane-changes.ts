// SPDX-License-Identifier: Apache-2.0
/**
 * The changes of a resource request that concern transmit virtual lanes: the credits, list size and
 * weight of a lane, and its allocation to functions, QoS levels and dedicated buffers (US 8,484,392
 * par. 66-69 and 74-76). `share-changes.ts` calls them on a copy of the plan.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  RESOURCE_CHANGE_AMOUNT_OFFSET,
  RESOURCE_CHANGE_WORD_OFFSET,
  type ResourceChange,
} from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import {
  type LaneShare,
  NO_OWNER,
  SHARED_COMPLETION,
  SHARED_CREDITS_ALL,
  SHARED_EXECUTION,
  type SharePlan,
} from './share-plan.ts';
import { badAmount, refuse, type ShareRefusal } from './share-refusal.ts';

/** Lanes in one word of a lane map. */
export const LANES_PER_WORD = 32;
const WEIGHT_MAX = 255;
const BOTH_LEVELS = (1 << QOS_LEVELS) - 1;

/** Changes credits, shared credits, list size or weight of a lane. */
export function changeLane(plan: SharePlan, change: ResourceChange): ShareRefusal | undefined {
  const lane = plan.lanes[change.target];
  const { amount } = change;
  switch (change.resource) {
    case ResourceKind.TVL_EXECUTION_CREDITS:
      return changeCredits(plan, lane, 'executionCredits', plan.executionUnallocated, amount);
    case ResourceKind.TVL_COMPLETION_CREDITS:
      return changeCredits(plan, lane, 'completionCredits', plan.completionUnallocated, amount);
    case ResourceKind.TVL_SHARED_CREDITS:
      if (amount > SHARED_CREDITS_ALL) return badAmount(ManagementStatus.BAD_FIELD, SHARED_CREDITS_ALL);
      lane.sharedCredits = amount;
      return undefined;
    case ResourceKind.TVL_LIST_SIZE:
      if (amount < 1 || amount > plan.limits.listSize)
        return badAmount(ManagementStatus.BAD_FIELD, plan.limits.listSize);
      lane.listSize = amount;
      return undefined;
    default:
      if (amount < 1 || amount > WEIGHT_MAX) return badAmount(ManagementStatus.BAD_FIELD, WEIGHT_MAX);
      lane.weight = amount;
      return undefined;
  }
}

/** Without a credit of each kind, private or shared, a lane would hold commands for ever. */
export function findStarvedLane(plan: SharePlan, change: ResourceChange): ShareRefusal | undefined {
  const lane = plan.lanes[change.target];
  const { executionCredits, completionCredits, sharedCredits } = lane;
  const starved =
    (executionCredits === 0 && (sharedCredits & SHARED_EXECUTION) === 0) ||
    (completionCredits === 0 && (sharedCredits & SHARED_COMPLETION) === 0);
  return starved ? badAmount(ManagementStatus.BAD_STATE, 0) : undefined;
}

function changeCredits(
  plan: SharePlan,
  lane: LaneShare,
  kind: 'executionCredits' | 'completionCredits',
  unallocated: number,
  amount: number,
): ShareRefusal | undefined {
  // A lane without private credits uses shared ones: one of these must stay.
  const kept = plan.lanes.some((other) => other !== lane && other[kind] === 0) ? 1 : 0;
  const limit = lane[kind] + Math.max(0, unallocated - kept);
  if (amount > limit) return badAmount(ManagementStatus.NO_RESOURCES, limit);
  lane[kind] = amount;
  return undefined;
}

/** TVLS: changes the number of lanes of a function or of a QoS level. */
export function changeLaneCount(plan: SharePlan, change: ResourceChange): ShareRefusal | undefined {
  const { target, qosLevel, amount } = change;
  const owned = plan.lanesOf(target);
  if (qosLevel !== RESOURCE_NO_LEVEL) {
    if (amount > owned.length) return badAmount(ManagementStatus.SHARE_EXCEEDED, owned.length);
    chooseLevelLanes(plan, target, qosLevel, amount);
    return undefined;
  }
  const limit = owned.length + Math.max(0, plan.lanesShared.length - lanesKept(plan, target));
  if (amount > limit) return badAmount(ManagementStatus.NO_RESOURCES, limit);
  const added = plan.lanesShared.slice(0, Math.max(0, amount - owned.length));
  const removed = orderOfRemoval(plan, owned).slice(0, Math.max(0, owned.length - amount));
  moveLanes(plan, target, added, removed);
  return undefined;
}

/** TVL_MAP: changes 32 lanes by number, of a function or of a QoS level. */
export function changeLaneMap(plan: SharePlan, change: ResourceChange): ShareRefusal | undefined {
  const { target, qosLevel } = change;
  const word = lanesOfWord(plan, change);
  if (!Array.isArray(word)) return word;
  const wanted = (number: number): boolean => isWanted(change, number);
  const owned = word.filter((number) => plan.lanes[number].owner === target);
  if (qosLevel !== RESOURCE_NO_LEVEL) {
    if (word.some((number) => wanted(number) && !owned.includes(number)))
      return badAmount(ManagementStatus.SHARE_EXCEEDED, bitsOf(owned));
    for (const number of owned) setLevel(plan.lanes[number], qosLevel, wanted(number));
    return undefined;
  }
  const free = word.filter((number) => isShared(plan.lanes[number]));
  const added = word.filter((number) => wanted(number) && !owned.includes(number));
  const removed = owned.filter((number) => !wanted(number));
  if (added.some((number) => !free.includes(number)))
    return badAmount(ManagementStatus.NO_RESOURCES, bitsOf([...owned, ...free]));
  moveLanes(plan, target, added, removed);
  return undefined;
}

/** DEDICATED_TVL_MAP: allocates shared lanes to the dedicated buffers. */
export function changeDedicatedMap(plan: SharePlan, change: ResourceChange): ShareRefusal | undefined {
  const word = lanesOfWord(plan, change);
  if (!Array.isArray(word)) return word;
  const free = word.filter((number) => plan.lanes[number].owner === NO_OWNER);
  if (word.some((number) => isWanted(change, number) && !free.includes(number)))
    return badAmount(ManagementStatus.NO_RESOURCES, bitsOf(free));
  for (const number of free) plan.lanes[number].dedicated = isWanted(change, number);
  return undefined;
}

/**
 * A map that leaves no shared lane to a function without lanes of its own. One word of a map may
 * take what another one gives back, so the state after all changes counts. `before`: the plan
 * before the request, whose lanes of the word would have been accepted.
 */
export function findUnsharedLanes(
  plan: SharePlan,
  before: SharePlan,
  change: ResourceChange,
): ShareRefusal | undefined {
  const isDedicated = change.resource === ResourceKind.DEDICATED_TVL_MAP;
  if (!isDedicated && (change.resource !== ResourceKind.TVL_MAP || change.qosLevel !== RESOURCE_NO_LEVEL))
    return undefined;
  if (plan.lanesShared.length >= lanesKept(plan, NO_OWNER)) return undefined;
  const had = before.findLanes(({ owner, dedicated }) => (isDedicated ? dedicated : owner === change.target));
  const ofWord = had.filter((number) => Math.floor(number / LANES_PER_WORD) === change.word);
  return badAmount(ManagementStatus.NO_RESOURCES, bitsOf(ofWord));
}

/**
 * Number of shared lanes that must stay because a function other than `target` has no lane of its
 * own.
 */
function lanesKept(plan: SharePlan, target: number): number {
  return plan.functions.some((_, number) => number !== target && plan.lanesOf(number).length === 0) ? 1 : 0;
}

function moveLanes(
  plan: SharePlan,
  functionNumber: number,
  added: readonly number[],
  removed: readonly number[],
): void {
  const levels = plan.mappedLevels(functionNumber);
  for (const number of added) Object.assign(plan.lanes[number], { owner: functionNumber, levels });
  for (const number of removed) Object.assign(plan.lanes[number], { owner: NO_OWNER, levels: 0 });
}

/**
 * Order of removal: lanes that no level or both levels have mapped first, then lanes of level 0,
 * level 1 last; high numbers before low ones.
 */
function orderOfRemoval(plan: SharePlan, lanes: readonly number[]): number[] {
  const rank = [0, 2, 3, 1];
  return [...lanes].sort((a, b) => rank[plan.lanes[a].levels] - rank[plan.lanes[b].levels] || b - a);
}

/** Keeps lanes that only this level has; adds lanes of no level before those of the other level. */
function chooseLevelLanes(plan: SharePlan, functionNumber: number, qosLevel: number, amount: number): void {
  const rank = (number: number): number => {
    const { levels } = plan.lanes[number];
    if ((levels & (1 << qosLevel)) !== 0) return levels === BOTH_LEVELS ? 1 : 0;
    return levels === 0 ? 2 : 3;
  };
  const order = plan.lanesOf(functionNumber).sort((a, b) => rank(a) - rank(b) || a - b);
  order.forEach((number, place) => {
    setLevel(plan.lanes[number], qosLevel, place < amount);
  });
}

function setLevel(lane: LaneShare, qosLevel: number, mapped: boolean): void {
  const bit = 1 << qosLevel;
  lane.levels = mapped ? lane.levels | bit : lane.levels & ~bit;
}

function isShared(lane: LaneShare): boolean {
  return lane.owner === NO_OWNER && !lane.dedicated;
}

/** Numbers of the lanes that a map change covers, or the refusal of its word or of its bits. */
function lanesOfWord(plan: SharePlan, { word, amount }: ResourceChange): number[] | ShareRefusal {
  const count = plan.lanes.length;
  const words = Math.ceil(count / LANES_PER_WORD);
  if (word >= words) return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_WORD_OFFSET, words - 1);
  const first = word * LANES_PER_WORD;
  const lanes = Array.from({ length: Math.min(LANES_PER_WORD, count - first) }, (_, bit) => first + bit);
  const known = bitsOf(lanes);
  if ((amount & ~known) !== 0) return refuse(ManagementStatus.BAD_FIELD, RESOURCE_CHANGE_AMOUNT_OFFSET, known);
  return lanes;
}

function isWanted({ amount }: ResourceChange, number: number): boolean {
  return ((amount >>> (number % LANES_PER_WORD)) & 1) === 1;
}

/** One word of a lane map with the bits of `lanes` set. */
export function bitsOf(lanes: readonly number[]): number {
  return lanes.reduce((bits, number) => bits | (1 << (number % LANES_PER_WORD)), 0) >>> 0;
}
