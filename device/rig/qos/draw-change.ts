// SPDX-License-Identifier: Apache-2.0
/**
 * Draws changes of resource requests: of all kinds of resources (US 8,484,392 par. 65-79) and of
 * the settings of doorbells. About half of them are refused. Used by `RandomActions`.
 */
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import { ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';

const LEVEL_KINDS = [ResourceKind.VCBS, ResourceKind.PCBS, ResourceKind.TVLS] as const;
const FUNCTION_KINDS = [
  ResourceKind.VCBS,
  ResourceKind.PCBS,
  ResourceKind.SCHEDULER_BUFFERS,
  ResourceKind.TVLS,
] as const;
const MAP_KINDS = [ResourceKind.TVL_MAP, ResourceKind.DEDICATED_TVL_MAP] as const;
/**
 * Settings with the least and largest value of each. Policy OFF is left out: it permits a deadlock.
 */
const SETTINGS = [
  [ResourceKind.DOORBELL_POLICY, 1, 2],
  [ResourceKind.DOORBELL_LINK_CHECK, 0, 1],
  [ResourceKind.DOORBELL_ADAPTIVE, 0, 1],
  [ResourceKind.DOORBELL_THRESHOLD_LOW, 0, 8],
  [ResourceKind.DOORBELL_THRESHOLD_HIGH, 0, 8],
  [ResourceKind.DOORBELL_HOST_QUEUE, 0, 1],
  [ResourceKind.DOORBELL_SPILL_BUFFERED, 0, 1],
  [ResourceKind.DOORBELL_SPILL_COMMANDS, 0, 1],
] as const;
const LANE_KINDS = [
  ResourceKind.TVL_EXECUTION_CREDITS,
  ResourceKind.TVL_COMPLETION_CREDITS,
  ResourceKind.TVL_SHARED_CREDITS,
  ResourceKind.TVL_LIST_SIZE,
  ResourceKind.TVL_WEIGHT,
] as const;

/** A change of a level, a function, a lane, a map, a base or a setting. */
export function drawShareChange(random: Random, target: number, lanes: number) {
  switch (random.below(6)) {
    case 0:
      return { resource: random.pick(LEVEL_KINDS), target, qosLevel: random.below(2), amount: random.below(7) };
    case 1:
      return { resource: random.pick(FUNCTION_KINDS), target, qosLevel: RESOURCE_NO_LEVEL, amount: random.below(13) };
    case 2:
      return { resource: random.pick(MAP_KINDS), target, qosLevel: RESOURCE_NO_LEVEL, amount: random.below(1 << 8) };
    case 3: {
      const levelMap = {
        resource: ResourceKind.TVL_MAP,
        target,
        qosLevel: random.below(2),
        amount: random.below(1 << 8),
      };
      const base = {
        resource: ResourceKind.VCB_BASE,
        target,
        qosLevel: RESOURCE_NO_LEVEL,
        amount: random.below(200),
      };
      return random.oneIn(2) ? levelMap : base;
    }
    case 4: {
      const [resource, least, most] = random.pick(SETTINGS);
      return { resource, target, qosLevel: RESOURCE_NO_LEVEL, amount: random.between(least, most) };
    }
    default:
      return { resource: random.pick(LANE_KINDS), target: random.below(lanes), amount: random.below(5) };
  }
}
