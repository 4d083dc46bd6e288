// SPDX-License-Identifier: Apache-2.0
/**
 * How lanes and credits are given out at power-on. One function shares all lanes with nobody. Of several, each owns an equal part of half of them, split
 * between its QoS levels, so it is an even number where it is more than one; the rest is shared. Half of the credits are private, evenly; one each where there are enough for that and one
 * more: who holds what is shared with long messages must not keep others from sending.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import type { LaneSettings } from './lane.ts';
import { type LaneMask, LaneSet } from './lane-set.ts';

/** The lanes to give out; see `TransmitVirtualLanes`. */
export interface UndividedLanes {
  readonly count: number;
  readonly execution: { readonly total: number };
  readonly completion: { readonly total: number };
  setLane(lane: number, settings: LaneSettings): void;
  setOwned(functionNumber: number, mask: LaneMask): void;
  setMap(functionNumber: number, qosLevel: number, mask: LaneMask): void;
}

export function divideLanes(lanes: UndividedLanes, functionCount: number): void {
  const { count } = lanes;
  for (let lane = 0; lane < count; lane++)
    lanes.setLane(lane, {
      executionCredits: getPrivate(lanes.execution.total, count),
      completionCredits: getPrivate(lanes.completion.total, count),
      sharedExecution: true,
      sharedCompletion: true,
    });
  const part = functionCount === 1 ? 0 : Math.floor(count / 2 / functionCount);
  if (part === 0) return;
  const perLevel = Math.floor(part / QOS_LEVELS);
  // With one lane alone the levels have no map: each takes what the function has.
  const each = perLevel === 0 ? part : perLevel * QOS_LEVELS;
  for (let functionNumber = 0; functionNumber < functionCount; functionNumber++) {
    lanes.setOwned(functionNumber, range(functionNumber * each, each));
    for (let level = 0; perLevel > 0 && level < QOS_LEVELS; level++)
      lanes.setMap(functionNumber, level, range(functionNumber * each + level * perLevel, perLevel));
  }
}

/** Credits of a kind that each of `count` lanes has of its own. */
function getPrivate(total: number, count: number): number {
  return Math.max(Math.floor(total / 2 / count), total > count ? 1 : 0);
}

function range(first: number, count: number): Int32Array {
  const set = new LaneSet();
  for (let lane = first; lane < first + count; lane++) set.add(lane);
  return set.words;
}
