// SPDX-License-Identifier: Apache-2.0
/**
 * Division of lanes and credits at power-on (US 8,484,392 par. 44, 51). A single function shares
 * all lanes. Of several functions each owns an equal part of the private lanes, split between its
 * QoS levels: an even number unless it is one lane. The rest is shared. Lanes and credits have the
 * same private part, half of them by default. Each lane has at least one private credit where there
 * are more credits than lanes: a function that holds the shared ones must not stop the others.
 * Called by `TransmitVirtualLanes`.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import type { LaneSettings } from './lane.ts';
import { type LaneMask, LaneSet } from './lane-set.ts';

/** Percentage of each pool that is private unless an option says otherwise. */
const PRIVATE_PERCENT = 50;

/** The lanes to divide; `TransmitVirtualLanes` implements it. */
export interface UndividedLanes {
  readonly count: number;
  readonly execution: { readonly total: number };
  readonly completion: { readonly total: number };
  setLane(lane: number, settings: LaneSettings): void;
  setOwned(functionNumber: number, mask: LaneMask): void;
  setMap(functionNumber: number, qosLevel: number, mask: LaneMask): void;
}

/**
 * The private part of `total` lanes, credits or buffers, from 0 to 1 times it;
 * `AdapterOptions.privatePercent` says how much.
 */
export function takePrivate(total: number, privatePercent = PRIVATE_PERCENT): number {
  return (total * privatePercent) / 100;
}

/** Sets credits, owners and maps of all lanes. */
export function divideLanes(lanes: UndividedLanes, functionCount: number, privatePercent?: number): void {
  const { count } = lanes;
  for (let lane = 0; lane < count; lane++)
    lanes.setLane(lane, {
      executionCredits: getPrivate(lanes.execution.total, count, privatePercent),
      completionCredits: getPrivate(lanes.completion.total, count, privatePercent),
      sharedExecution: true,
      sharedCompletion: true,
    });
  const part = functionCount === 1 ? 0 : Math.floor(takePrivate(count, privatePercent) / functionCount);
  if (part === 0) return;
  const perLevel = Math.floor(part / QOS_LEVELS);
  // With one lane per function the levels have no map: each uses the lanes of its function.
  const each = perLevel === 0 ? part : perLevel * QOS_LEVELS;
  for (let functionNumber = 0; functionNumber < functionCount; functionNumber++) {
    lanes.setOwned(functionNumber, range(functionNumber * each, each));
    for (let level = 0; perLevel > 0 && level < QOS_LEVELS; level++)
      lanes.setMap(functionNumber, level, range(functionNumber * each + level * perLevel, perLevel));
  }
}

/** Private credits of one kind for each of `count` lanes. */
function getPrivate(total: number, count: number, privatePercent?: number): number {
  return Math.max(Math.floor(takePrivate(total, privatePercent) / count), total > count ? 1 : 0);
}

function range(first: number, count: number): Int32Array {
  const set = new LaneSet();
  for (let lane = first; lane < first + count; lane++) set.add(lane);
  return set.words;
}
