// SPDX-License-Identifier: Apache-2.0
/**
 * Options of the built-in subnet manager, and their check. Topology files and the command line give
 * them; the defaults make a subnet of any nodes usable.
 */
import { type Guid, NO_GUID } from './guid.ts';
import { defaultVlOptions, findVlError, type VlOptions } from './vl-options.ts';

/** A member of a partition by its port GUID. */
interface PartitionMember {
  readonly guid: Guid;
  readonly membership: 'full' | 'limited';
}

export interface Partition {
  readonly name: string;
  /** The key without the membership bit: 1 to 0x7fff. */
  readonly pKey: number;
  /** All ports as full members, all ports as limited members, or the listed ports. */
  readonly members: 'all' | 'all-limited' | readonly PartitionMember[];
  /** The broadcast groups of IPoIB exist from the beginning. */
  readonly ipoib: boolean;
}

/** `auto`: minimum hops where that cannot deadlock, else up/down. */
export type RoutingEngine = 'auto' | 'min-hop' | 'up-down';

export interface SubnetManagerOptions {
  /** 0 to 15; the subnet manager of the highest priority becomes master. */
  readonly priority: number;
  readonly subnetPrefix: Guid;
  /** Requests with this key are trusted by subnet administration. */
  readonly smKey: Guid;
  /** Key for the ports; zeros: ports are not protected. */
  readonly mKey: Guid;
  /** Level of protection by the key, 1 to 3 (IBTA 14.2.4): Sets; Gets as well; and at 3 as at 2. */
  readonly mKeyProtect: number;
  /** Seconds from a violation until the protection of a port ends; 0: never. */
  readonly mKeyLease: number;
  /** Ports of adapters have 2^lmc LIDs each, 0 to 7. */
  readonly lmc: number;
  readonly lanes: VlOptions;
  readonly routing: RoutingEngine;
  readonly partitions: readonly Partition[];
  /** Time from one light sweep to the next. */
  readonly sweepNs: number;
  /** Time from one look at the master to the next. */
  readonly pollNs: number;
  /** Looks without a good answer until the master counts as dead. */
  readonly pollAttempts: number;
  /** Time until a request without response is repeated. */
  readonly timeoutNs: number;
  /** Attempts at a request until the agent counts as absent. */
  readonly attempts: number;
  /** Requests of subnet management that may be without response at a time. */
  readonly outstanding: number;
}

/** Key of the partition that every port belongs to. */
export const DEFAULT_PARTITION = 0x7fff;

const MS = 1_000_000;
const SECOND = 1000 * MS;

export const defaultPartition: Partition = { name: 'Default', pKey: DEFAULT_PARTITION, members: 'all', ipoib: true };

export const defaultSubnetManagerOptions: SubnetManagerOptions = {
  priority: 0,
  subnetPrefix: 'fe80000000000000',
  smKey: '0000000000000001',
  mKey: '0000000000000000',
  mKeyProtect: 1,
  mKeyLease: 0,
  lmc: 0,
  lanes: defaultVlOptions,
  routing: 'auto',
  partitions: [defaultPartition],
  sweepNs: 10 * SECOND,
  pollNs: 2 * SECOND,
  pollAttempts: 3,
  timeoutNs: 100 * MS,
  attempts: 12,
  outstanding: 4,
};

const GUID = /^[0-9a-f]{16}$/;
/** Options that are whole numbers, and their bounds. */
const bounds = {
  priority: [0, 15],
  mKeyProtect: [1, 3],
  mKeyLease: [0, 0xffff],
  lmc: [0, 7],
} as const;

/** Returns one sentence about the first error, or undefined. */
export function findSubnetManagerError(options: SubnetManagerOptions): string | undefined {
  const { routing, lanes, partitions } = options;
  for (const [name, [least, most]] of Object.entries(bounds)) {
    const value = options[name as keyof typeof bounds];
    if (!Number.isInteger(value) || value < least || value > most)
      return `${name} ${value} must be a whole number from ${least} to ${most}`;
  }
  for (const name of ['subnetPrefix', 'smKey', 'mKey'] as const) {
    if (!GUID.test(options[name])) return `${name} ${options[name]} must have 16 hexadecimal digits`;
  }
  if (!['auto', 'min-hop', 'up-down'].includes(routing)) return `routing ${routing} must be auto, min-hop or up-down`;
  for (const name of ['sweepNs', 'pollNs', 'pollAttempts', 'timeoutNs', 'attempts', 'outstanding'] as const) {
    if (!(options[name] >= 1)) return `${name} ${options[name]} must be at least 1`;
  }
  const vlError = findVlError(lanes);
  return vlError === undefined ? findPartitionError(partitions) : `lanes: ${vlError}`;
}

function findPartitionError(partitions: readonly Partition[]): string | undefined {
  const keys = new Set<number>();
  for (const { name, pKey, members } of partitions) {
    const where = `partition ${name}`;
    if (!Number.isInteger(pKey) || pKey < 1 || pKey > DEFAULT_PARTITION)
      return `${where}: pKey ${pKey} must be a whole number from 1 to ${DEFAULT_PARTITION}`;
    if (keys.has(pKey)) return `${where}: another partition has pKey ${pKey}; keys must differ`;
    keys.add(pKey);
    if (typeof members === 'string') continue;
    for (const { guid } of members) {
      if (!GUID.test(guid)) return `${where}: GUID ${guid} of a member must have 16 hexadecimal digits`;
    }
  }
  return undefined;
}

/** M_KeyProtectBits of all ports: without a key there is nothing to protect. */
export function protectionOf({ mKey, mKeyProtect }: SubnetManagerOptions): number {
  return mKey === NO_GUID ? 0 : mKeyProtect;
}
