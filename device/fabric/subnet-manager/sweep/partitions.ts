// SPDX-License-Identifier: Apache-2.0
/**
 * The partition keys of each port (IBTA 10.9 and 14.2.5.7). The keys of a port fill its table from
 * the front, the default partition first. The sweep writes the tables, and subnet administration
 * asks what two ports share.
 */
import { PKEY_FULL_MEMBER } from '../../../../protocol/infiniband/keys.ts';
import type { Guid } from '../guid.ts';
import { DEFAULT_PARTITION, defaultPartition, type Partition } from '../options.ts';

/**
 * Keys of a port. Without an own list the default partition has all ports as limited members. The
 * manager's node is a full member of it, so that every port may talk to subnet administration.
 */
export function keysOf(guid: Guid, partitions: readonly Partition[], isManager = false): number[] {
  const hasDefault = partitions.some(({ pKey }) => pKey === DEFAULT_PARTITION);
  const all = hasDefault ? partitions : [{ ...defaultPartition, members: 'all-limited' as const }, ...partitions];
  const ordered = [...all].sort((one, other) => rank(one) - rank(other));
  return ordered.flatMap(({ pKey, members }) => {
    if (members === 'all' || (isManager && pKey === DEFAULT_PARTITION)) return [pKey | PKEY_FULL_MEMBER];
    if (members === 'all-limited') return [pKey];
    const member = members.find((each) => each.guid === guid);
    if (member === undefined) return [];
    return [member.membership === 'full' ? pKey | PKEY_FULL_MEMBER : pKey];
  });
}

/** The default partition comes first. */
function rank({ pKey }: Partition): number {
  return pKey === DEFAULT_PARTITION ? 0 : 1;
}

/** True if members with these keys may talk to each other. */
export function mayTalk(one: number, other: number): boolean {
  return (one & DEFAULT_PARTITION) === (other & DEFAULT_PARTITION) && ((one | other) & PKEY_FULL_MEMBER) !== 0;
}
