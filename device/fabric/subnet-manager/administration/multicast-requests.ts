// SPDX-License-Identifier: Apache-2.0
/**
 * Joining, creating and leaving multicast groups (IBTA 15.2.5.17): checks a request against the
 * group, the port and its partitions. `Administration` calls it and routes the groups anew before
 * it answers.
 */

import { MULTICAST_LID_BASE, PERMISSIVE_LID } from '../../../../protocol/infiniband/addresses.ts';
import { PKEY_FULL_MEMBER } from '../../../../protocol/infiniband/keys.ts';
import {
  getMcMemberRecordFlowLabel,
  getMcMemberRecordHopLimit,
  getMcMemberRecordJoinState,
  getMcMemberRecordMtu,
  getMcMemberRecordMtuSelector,
  getMcMemberRecordPacketLifeTime,
  getMcMemberRecordPacketLifeTimeSelector,
  getMcMemberRecordPKey,
  getMcMemberRecordQKey,
  getMcMemberRecordRate,
  getMcMemberRecordRateSelector,
  getMcMemberRecordScope,
  getMcMemberRecordServiceLevel,
  getMcMemberRecordTrafficClass,
  MC_MEMBER_RECORD_MGID_OFFSET,
  MC_MEMBER_RECORD_PORT_GID_OFFSET,
} from '../../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import { getPortInfoMtuCapability } from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { getSwitchInfoMulticastCapacity } from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Gid, type Guid, readGid } from '../guid.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';
import { mayTalk } from '../sweep/partitions.ts';
import { keysOfPort, SUBNET_TIMEOUT } from '../sweep/port-settings.ts';
import { asksFor, type ComponentMask, matches } from './components.ts';
import {
  type GroupProperties,
  KEEPS_GROUP,
  type Member,
  memberRecord,
  type SubnetGroup,
  type SubnetGroups,
} from './groups.ts';
import { portOfGid } from './paths.ts';
import { mtuCodes, rateCodes, rateOf, select, selectTime } from './selectors.ts';

const RECORD = 'mc-member-record';
/** Components that a request for a new group must have. */
const CREATION = ['qKey', 'trafficClass', 'pKey', 'serviceLevel', 'flowLabel'];
/** Components that are no values of the group. */
const NOT_COMPARED = ['mgid', 'portGid', 'joinState', 'proxyJoin', 'mlid', 'hopLimit', 'scope'];
const CHOSEN = ['mtu', 'mtuSelector', 'rate', 'rateSelector', 'packetLifeTime', 'packetLifeTimeSelector'];
const ANY_GROUP: Gid = '0'.repeat(32);
const DEFAULT_MTU = 4;

interface MulticastRequest {
  readonly subnet: Subnet;
  readonly prefix: Guid;
  readonly groups: SubnetGroups;
  readonly query: Uint8Array;
  readonly mask: ComponentMask;
  /** Port that sent the request. */
  readonly requester: SubnetPort;
}

interface MulticastOutcome {
  readonly status: number;
  readonly record?: Uint8Array;
  readonly created?: SubnetGroup;
  readonly deleted?: SubnetGroup;
  /** The routes of the groups have changed. */
  readonly reroutes?: boolean;
}

const INVALID: MulticastOutcome = { status: MadStatus.REQUEST_INVALID };

export function joinGroup(request: MulticastRequest): MulticastOutcome {
  const { subnet, prefix, groups, query, mask } = request;
  const view = viewOf(query);
  if (!['portGid', 'joinState'].every((name) => asksFor(RECORD, mask, name)))
    return { status: MadStatus.INSUFFICIENT_COMPONENTS };
  const joinState = getMcMemberRecordJoinState(view, 0);
  const portGid = readGid(view, MC_MEMBER_RECORD_PORT_GID_OFFSET);
  const port = portOfGid(subnet, prefix, portGid);
  if (joinState === 0 || port === undefined) return INVALID;
  const mgid = asksFor(RECORD, mask, 'mgid') ? readGid(view, MC_MEMBER_RECORD_MGID_OFFSET) : ANY_GROUP;
  if (mgid !== ANY_GROUP && !mgid.startsWith('ff')) return INVALID;
  const known = groups.find(mgid);
  if (known !== undefined && !suits(known, port, query, mask)) return INVALID;
  const made = known === undefined ? createGroup(request, mgid, joinState, port) : undefined;
  if (typeof made === 'number') return { status: made };
  const group = known ?? made;
  if (group === undefined) return INVALID;
  const member = group.members.get(portGid);
  const before = member?.joinState ?? 0;
  const entry: Member = member ?? { portGid, portGuid: port.guid, joinState: 0, proxy: port !== request.requester };
  entry.joinState = before | joinState;
  group.members.set(portGid, entry);
  const outcome = { status: MadStatus.SUCCESS, record: memberRecord(group, entry) };
  return { ...outcome, reroutes: entry.joinState !== before, ...(made && { created: made }) };
}

/** Makes the group that a request wants; a number is the status of the refusal. */
function createGroup(
  { subnet, groups, query, mask, requester }: MulticastRequest,
  mgid: Gid,
  joinState: number,
  port: SubnetPort,
): SubnetGroup | number {
  if (!CREATION.every((name) => asksFor(RECORD, mask, name))) return MadStatus.INSUFFICIENT_COMPONENTS;
  if ((joinState & KEEPS_GROUP) === 0) return MadStatus.REQUEST_INVALID;
  const properties = propertiesOf(mgid, port, viewOf(query), mask);
  if (properties === undefined || !hasKey(port, properties.pKey)) return MadStatus.REQUEST_INVALID;
  const name = mgid === ANY_GROUP ? undefined : mgid;
  return groups.create(name, properties, requester.guid, multicastCapacity(subnet)) ?? MadStatus.NO_RESOURCES;
}

/** Multicast LIDs for which each switch has an entry. */
function multicastCapacity({ switches }: Subnet): number {
  const capacities = switches.map(({ switchInfo }) => getSwitchInfoMulticastCapacity(viewOf(switchInfo), 0));
  return Math.min(PERMISSIVE_LID - MULTICAST_LID_BASE, ...capacities);
}

function propertiesOf(mgid: Gid, port: SubnetPort, view: DataView, mask: ComponentMask): GroupProperties | undefined {
  const asks = (name: string) => asksFor(RECORD, mask, name) && asksFor(RECORD, mask, `${name}Selector`);
  const portMtu = getPortInfoMtuCapability(port.view, 0);
  const mtu = asks('mtu')
    ? select(mtuCodes, getMcMemberRecordMtuSelector(view, 0), getMcMemberRecordMtu(view, 0), portMtu)
    : Math.min(DEFAULT_MTU, portMtu);
  const rate = asks('rate')
    ? select(rateCodes, getMcMemberRecordRateSelector(view, 0), getMcMemberRecordRate(view, 0), rateOf(port))
    : rateOf(port);
  const selector = getMcMemberRecordPacketLifeTimeSelector(view, 0);
  const lifeTime = asks('packetLifeTime')
    ? selectTime(selector, getMcMemberRecordPacketLifeTime(view, 0), 0)
    : SUBNET_TIMEOUT;
  if (mtu === undefined || rate === undefined || lifeTime === undefined) return undefined;
  const scope = asksFor(RECORD, mask, 'scope') ? getMcMemberRecordScope(view, 0) : Number.parseInt(mgid[3], 16);
  return {
    ...{ mtu, rate, lifeTime, scope },
    qKey: getMcMemberRecordQKey(view, 0),
    trafficClass: getMcMemberRecordTrafficClass(view, 0),
    pKey: getMcMemberRecordPKey(view, 0),
    serviceLevel: getMcMemberRecordServiceLevel(view, 0),
    flowLabel: getMcMemberRecordFlowLabel(view, 0),
    hopLimit: asksFor(RECORD, mask, 'hopLimit') ? getMcMemberRecordHopLimit(view, 0) : 0,
  };
}

/** True if a group is as the request wants it, and the port is able to take part. */
function suits(group: SubnetGroup, port: SubnetPort, query: Uint8Array, mask: ComponentMask): boolean {
  if (!matches(RECORD, mask, query, memberRecord(group, undefined), [...NOT_COMPARED, ...CHOSEN])) return false;
  if (getPortInfoMtuCapability(port.view, 0) < group.mtu || !hasKey(port, group.pKey)) return false;
  if (port.number !== 0 && rateCodes.indexOf(rateOf(port)) < rateCodes.indexOf(group.rate)) return false;
  return meetsSelectors(group, viewOf(query), mask);
}

/** True if MTU, rate and life time of a group are as a query compares them. */
export function meetsSelectors(group: GroupProperties, view: DataView, mask: ComponentMask): boolean {
  const asks = (name: string) => asksFor(RECORD, mask, name) && asksFor(RECORD, mask, `${name}Selector`);
  const compare = (codes: readonly number[], selector: number, wanted: number, value: number) => {
    const order = codes.indexOf(value) - codes.indexOf(wanted);
    return [order > 0, order < 0, order === 0, true][selector];
  };
  const { mtu, rate, lifeTime } = group;
  if (asks('mtu') && !compare(mtuCodes, getMcMemberRecordMtuSelector(view, 0), getMcMemberRecordMtu(view, 0), mtu))
    return false;
  if (asks('rate') && !compare(rateCodes, getMcMemberRecordRateSelector(view, 0), getMcMemberRecordRate(view, 0), rate))
    return false;
  const selector = getMcMemberRecordPacketLifeTimeSelector(view, 0);
  const order = Math.sign(lifeTime - getMcMemberRecordPacketLifeTime(view, 0));
  return !asks('packetLifeTime') || [order > 0, order < 0, order === 0, true][selector];
}

function hasKey(port: SubnetPort, pKey: number): boolean {
  return keysOfPort(port).some((key) => mayTalk(key, pKey | PKEY_FULL_MEMBER));
}

export function leaveGroup({ groups, query, mask, subnet, prefix, requester }: MulticastRequest): MulticastOutcome {
  const view = viewOf(query);
  if (!['mgid', 'portGid', 'joinState'].every((name) => asksFor(RECORD, mask, name)))
    return { status: MadStatus.INSUFFICIENT_COMPONENTS };
  const group = groups.find(readGid(view, MC_MEMBER_RECORD_MGID_OFFSET));
  const portGid = readGid(view, MC_MEMBER_RECORD_PORT_GID_OFFSET);
  const member = group?.members.get(portGid);
  const leaving = getMcMemberRecordJoinState(view, 0);
  if (group === undefined || member === undefined || (member.joinState & leaving) === 0) return INVALID;
  // A port that joined by itself leaves by itself.
  if (!member.proxy && portOfGid(subnet, prefix, portGid) !== requester) return INVALID;
  member.joinState &= ~leaving;
  const record = memberRecord(group, member);
  if (member.joinState === 0) group.members.delete(portGid);
  const isGone = groups.collect(group);
  return { status: MadStatus.SUCCESS, record, reroutes: true, ...(isGone && { deleted: group }) };
}
