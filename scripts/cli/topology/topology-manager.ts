// SPDX-License-Identifier: Apache-2.0
/**
 * The member `manager` of a topology file (docs/TOPOLOGY.md): options of the built-in subnet
 * manager, partitions among them. `topology-file.ts` calls it.
 */

import {
  defaultSubnetManagerOptions,
  type Partition,
  type SubnetManagerOptions,
} from '../../../device/fabric/subnet-manager/options.ts';
import { defaultVlOptions, type VlOptions } from '../../../device/fabric/subnet-manager/vl-options.ts';
import { describe, isObject, readObject } from '../options/json-shape.ts';
import { UsageError } from '../options/usage-error.ts';

/** Options of the built-in subnet manager; `findTopologyError` checks their values. */
export function readManager(value: unknown): Partial<SubnetManagerOptions> {
  const like = { ...defaultSubnetManagerOptions, partitions: [], lanes: {} };
  const { partitions, lanes, ...given } = readObject(value, 'manager', like);
  return {
    ...given,
    ...(lanes !== undefined && { lanes: readVlOptions(lanes) }),
    ...(partitions !== undefined && { partitions: (partitions as unknown[]).map(readPartition) }),
  };
}

function readVlOptions(value: unknown): VlOptions {
  return { ...defaultVlOptions, ...readObject(value, 'manager: lanes', { ...defaultVlOptions }) };
}

function readPartition(value: unknown, index: number): Partition {
  const what = `manager: partition ${index + 1}`;
  const { members = 'all', ...given } = isObject(value) ? value : {};
  readObject(isObject(value) ? given : value, what, { name: '', pKey: 0, ipoib: true });
  const all = typeof members === 'string' ? members : readMembers(members, what);
  if (typeof all === 'string' && all !== 'all' && all !== 'all-limited')
    throw new UsageError(`${what}: members is ${describe(members)}; it must be all, all-limited or a list`);
  const { name = `partition ${index + 1}`, pKey, ipoib = true } = given as Partial<Partition>;
  if (pKey === undefined) throw new UsageError(`${what}: pKey is missing; it is a number from 1 to 32767`);
  return { name, pKey, ipoib, members: all as Partition['members'] };
}

function readMembers(value: unknown, what: string): Partition['members'] {
  if (!Array.isArray(value))
    throw new UsageError(`${what}: members is ${describe(value)}; it must be all, all-limited or a list`);
  return value.map((one) => {
    const { guid, membership = 'full' } = readObject(one, `${what}: member`, { guid: '', membership: '' });
    if (membership !== 'full' && membership !== 'limited')
      throw new UsageError(`${what}: membership is ${describe(membership)}; it must be full or limited`);
    return { guid: String(guid), membership };
  });
}
