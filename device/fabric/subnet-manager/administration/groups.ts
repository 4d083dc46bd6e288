// SPDX-License-Identifier: Apache-2.0
/**
 * Multicast groups and their members (IBTA 15.2.5.17, 10.5): a group exists while it has a member
 * that receives, or from the beginning for the broadcast groups of IPoIB. `multicast-requests.ts`
 * checks requests and changes it; the manager routes the groups.
 */

import { MULTICAST_LID_BASE, PERMISSIVE_LID } from '../../../../protocol/infiniband/addresses.ts';
import { PKEY_FULL_MEMBER } from '../../../../protocol/infiniband/keys.ts';
import {
  MC_MEMBER_RECORD_MGID_OFFSET,
  MC_MEMBER_RECORD_PORT_GID_OFFSET,
  MC_MEMBER_RECORD_SIZE,
  setMcMemberRecordFlowLabel,
  setMcMemberRecordHopLimit,
  setMcMemberRecordJoinState,
  setMcMemberRecordMlid,
  setMcMemberRecordMtu,
  setMcMemberRecordMtuSelector,
  setMcMemberRecordPacketLifeTime,
  setMcMemberRecordPacketLifeTimeSelector,
  setMcMemberRecordPKey,
  setMcMemberRecordProxyJoin,
  setMcMemberRecordQKey,
  setMcMemberRecordRate,
  setMcMemberRecordRateSelector,
  setMcMemberRecordScope,
  setMcMemberRecordServiceLevel,
  setMcMemberRecordTrafficClass,
} from '../../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import { PathSelector } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Gid, type Guid, writeGidText } from '../guid.ts';
import type { Partition } from '../options.ts';
import type { Group } from '../sweep/sweep.ts';

/** Bits of a join state. */
export const JoinState = { FULL: 1, NON: 2, SEND_ONLY: 4, SEND_ONLY_FULL: 8 } as const;
/** Members of these kinds keep a group alive. */
export const KEEPS_GROUP: number = JoinState.FULL | JoinState.SEND_ONLY_FULL;
const RECEIVES = JoinState.FULL | JoinState.NON;

/** The broadcast group of IPoIB: Q_Key, 2048 bytes, 10 Gbit/s, about 1 s (RFC 4391, opensm). */
const IPOIB_Q_KEY = 0x0b1b;
const IPOIB_MTU = 4;
const IPOIB_RATE = 3;
const IPOIB_LIFE_TIME = 18;
const IPOIB_SCOPE = 2;

export interface Member {
  readonly portGid: Gid;
  readonly portGuid: Guid;
  joinState: number;
  /** Joined by another port. */
  proxy: boolean;
}

/** Properties of a group. */
export interface GroupProperties {
  readonly qKey: number;
  readonly mtu: number;
  readonly rate: number;
  readonly lifeTime: number;
  readonly trafficClass: number;
  readonly pKey: number;
  readonly serviceLevel: number;
  readonly flowLabel: number;
  readonly hopLimit: number;
  readonly scope: number;
}

export interface SubnetGroup extends GroupProperties {
  readonly mgid: Gid;
  readonly mlid: number;
  /** Stays without members. */
  readonly isPermanent: boolean;
  /** Port that created it; none for those that exist from the beginning. */
  readonly creator: Guid | undefined;
  /** By port GID. */
  readonly members: Map<Gid, Member>;
}

/** Groups that one port may create: the tables of the switches have room for 1024 in all. */
export const GROUPS_OF_PORT = 256;

export class SubnetGroups {
  /** Groups that were refused: the tables of the switches are full, or the port has enough. */
  refused = 0;
  readonly #groups = new Map<Gid, SubnetGroup>();

  get all(): SubnetGroup[] {
    return [...this.#groups.values()];
  }

  find(mgid: Gid): SubnetGroup | undefined {
    return this.#groups.get(mgid);
  }

  /** Forgets all groups, and makes those that exist from the beginning. */
  reset(partitions: readonly Partition[]): void {
    this.#groups.clear();
    for (const { pKey, ipoib } of partitions) {
      if (!ipoib) continue;
      const key = pKey | PKEY_FULL_MEMBER;
      const properties = { mtu: IPOIB_MTU, rate: IPOIB_RATE, lifeTime: IPOIB_LIFE_TIME, scope: IPOIB_SCOPE };
      const rest = { trafficClass: 0, serviceLevel: 0, flowLabel: 0, hopLimit: 0 };
      this.create(ipoibBroadcast(key), { qKey: IPOIB_Q_KEY, pKey: key, ...properties, ...rest }, undefined);
    }
  }

  /**
   * Makes a group; undefined when the port has created too many, or when all multicast LIDs are
   * used for which each switch has an entry: `capacity`.
   */
  create(
    mgid: Gid | undefined,
    properties: GroupProperties,
    creator: Guid | undefined,
    capacity = PERMISSIVE_LID - MULTICAST_LID_BASE,
  ): SubnetGroup | undefined {
    const used = new Set(this.all.map(({ mlid }) => mlid));
    const isPermanent = creator === undefined;
    let mlid = MULTICAST_LID_BASE;
    while (used.has(mlid)) mlid++;
    const created = isPermanent ? 0 : this.all.filter((group) => group.creator === creator).length;
    if (mlid >= MULTICAST_LID_BASE + capacity || created >= GROUPS_OF_PORT) {
      this.refused++;
      return undefined;
    }
    const name = mgid ?? ownGid(properties.scope, mlid);
    const group: SubnetGroup = { mgid: name, mlid, isPermanent, creator, members: new Map(), ...properties };
    this.#groups.set(name, group);
    return group;
  }

  /** Removes a group that no member keeps. Returns true if it is gone. */
  collect(group: SubnetGroup): boolean {
    if (group.isPermanent) return false;
    for (const { joinState } of group.members.values()) if ((joinState & KEEPS_GROUP) !== 0) return false;
    this.#groups.delete(group.mgid);
    return true;
  }

  /** The groups as routing needs them. */
  routes(): Group[] {
    return this.all.map(({ mlid, members }) => {
      const places = new Map<Guid, boolean>();
      for (const { portGuid, joinState } of members.values())
        places.set(portGuid, (places.get(portGuid) ?? false) || (joinState & RECEIVES) !== 0);
      return { mlid, members: places };
    });
  }
}

/** MGID of the broadcast group of IPoIB over IPv4 in a partition (RFC 4391, 4). */
function ipoibBroadcast(pKey: number): Gid {
  return `ff12401b${pKey.toString(16).padStart(4, '0')}${'0'.repeat(12)}ffffffff`;
}

/** MGID for a group whose creator wants any: transient, with the multicast LID in it. */
function ownGid(scope: number, mlid: number): Gid {
  return `ff1${(scope || IPOIB_SCOPE).toString(16)}a01b${'0'.repeat(20)}${mlid.toString(16)}`;
}

/** The record of a group, and of a member if one is given. */
export function memberRecord(group: SubnetGroup, member: Member | undefined): Uint8Array {
  const bytes = new Uint8Array(MC_MEMBER_RECORD_SIZE);
  const view = viewOf(bytes);
  writeGidText(view, MC_MEMBER_RECORD_MGID_OFFSET, group.mgid);
  if (member !== undefined) writeGidText(view, MC_MEMBER_RECORD_PORT_GID_OFFSET, member.portGid);
  setMcMemberRecordQKey(view, 0, group.qKey);
  setMcMemberRecordMlid(view, 0, group.mlid);
  setMcMemberRecordMtuSelector(view, 0, PathSelector.EXACT);
  setMcMemberRecordMtu(view, 0, group.mtu);
  setMcMemberRecordTrafficClass(view, 0, group.trafficClass);
  setMcMemberRecordPKey(view, 0, group.pKey);
  setMcMemberRecordRateSelector(view, 0, PathSelector.EXACT);
  setMcMemberRecordRate(view, 0, group.rate);
  setMcMemberRecordPacketLifeTimeSelector(view, 0, PathSelector.EXACT);
  setMcMemberRecordPacketLifeTime(view, 0, group.lifeTime);
  setMcMemberRecordServiceLevel(view, 0, group.serviceLevel);
  setMcMemberRecordFlowLabel(view, 0, group.flowLabel);
  setMcMemberRecordHopLimit(view, 0, group.hopLimit);
  setMcMemberRecordScope(view, 0, group.scope);
  setMcMemberRecordJoinState(view, 0, member?.joinState ?? 0);
  setMcMemberRecordProxyJoin(view, 0, member?.proxy === true ? 1 : 0);
  return bytes;
}
