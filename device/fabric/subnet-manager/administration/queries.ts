// SPDX-License-Identifier: Apache-2.0
/**
 * Queries of subnet administration: all records of a kind that match the components of the query
 * (IBTA 15.4). Get wants exactly one, GetTable any number.
 */

import {
  CLASS_PORT_INFO_SIZE,
  setClassPortInfoCapabilityMask,
  setClassPortInfoCapabilityMask2,
  setClassPortInfoInfoBaseVersion,
  setClassPortInfoInfoClassVersion,
  setClassPortInfoResponseTime,
} from '../../../../protocol/infiniband/mad/gen/class-port-info.gen.ts';
import { MC_MEMBER_RECORD_PORT_GID_OFFSET } from '../../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import {
  getPortInfoRecordCapabilityMask,
  getPortInfoRecordOptions,
} from '../../../../protocol/infiniband/mad/gen/port-info-record.gen.ts';
import { AdministrationAttribute, MadMethod, MadStatus } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { readGid } from '../guid.ts';
import type { SubnetManagerOptions } from '../options.ts';
import type { Subnet } from '../subnet.ts';
import { asksFor, matches } from './components.ts';
import { memberRecord, type SubnetGroups } from './groups.ts';
import { meetsSelectors } from './multicast-requests.ts';
import { pathLimit, pathRecords } from './paths.ts';
import type { RecordReply, RecordRequest } from './request.ts';
import type { Services } from './services.ts';
import type { Subscriptions } from './subscriptions.ts';
import {
  arbitrationRecords,
  guidInfoRecords,
  type KnownManager,
  linearTableRecords,
  linkRecords,
  managerRecords,
  multicastTableRecords,
  nodeRecords,
  partitionRecords,
  portInfoRecords,
  switchInfoRecords,
  vlMapRecords,
} from './table-records.ts';

/** Sources of queries. */
interface Sources {
  readonly subnet: Subnet;
  readonly managers: readonly KnownManager[];
  readonly groups: SubnetGroups;
  readonly services: Services;
  readonly subscriptions: Subscriptions;
  readonly options: SubnetManagerOptions;
}

/** Optional records, multicast, MultiPathRecord. */
const CAPABILITIES = 0x0100 | 0x0200 | 0x0400;
/** Send-only members may create a group. */
const SEND_ONLY_FULL_MEMBER = 1 << 12;
const RESPONSE_TIME = 18;
const SA_CLASS_VERSION = 2;
/** Option of PortInfoRecord: all bits of the capability mask in the query must be set. */
const MATCHES_BITS = 0x80;
const CHOSEN = ['mtuSelector', 'mtu', 'rateSelector', 'rate', 'packetLifeTimeSelector', 'packetLifeTime'];

const A = AdministrationAttribute;

/** Name of the table and all records of the attributes that are plain lists. */
const LISTS: Readonly<Record<number, readonly [name: string, list: (from: Sources) => Uint8Array[]]>> = {
  [A.NODE_RECORD]: ['node-record', ({ subnet }) => nodeRecords(subnet)],
  [A.SWITCH_INFO_RECORD]: ['switch-info-record', ({ subnet }) => switchInfoRecords(subnet)],
  [A.LINEAR_FORWARDING_TABLE_RECORD]: ['linear-forwarding-table-record', ({ subnet }) => linearTableRecords(subnet)],
  [A.MULTICAST_FORWARDING_TABLE_RECORD]: [
    'multicast-forwarding-table-record',
    ({ subnet }) => multicastTableRecords(subnet),
  ],
  [A.P_KEY_TABLE_RECORD]: ['p-key-table-record', ({ subnet }) => partitionRecords(subnet)],
  [A.SL_TO_VL_TABLE_RECORD]: ['sl-to-vl-table-record', ({ subnet }) => vlMapRecords(subnet)],
  [A.VL_ARBITRATION_TABLE_RECORD]: ['vl-arbitration-table-record', ({ subnet }) => arbitrationRecords(subnet)],
  [A.GUID_INFO_RECORD]: ['guid-info-record', ({ subnet }) => guidInfoRecords(subnet)],
  [A.LINK_RECORD]: ['link-record', ({ subnet }) => linkRecords(subnet)],
  [A.SM_INFO_RECORD]: ['sm-info-record', ({ managers }) => managerRecords(managers)],
  [A.INFORM_INFO_RECORD]: ['inform-info-record', ({ subscriptions }) => subscriptions.records()],
};

/** Answers Get and GetTable; undefined when the attribute is not known. */
export function answerQuery(sources: Sources, request: RecordRequest, nowNs: number): RecordReply | undefined {
  const { attribute, method } = request;
  if (attribute === A.CLASS_PORT_INFO)
    return method === MadMethod.GET ? { status: MadStatus.SUCCESS, records: [classPortInfo()] } : undefined;
  const found = find(sources, request, nowNs);
  if (found === undefined) return undefined;
  if (method === MadMethod.GET_TABLE) return { status: MadStatus.SUCCESS, records: found };
  if (found.length === 0) return { status: MadStatus.NO_RECORDS, records: [] };
  // Of several paths the first one is as good as any other.
  if (found.length > 1 && attribute !== A.PATH_RECORD) return { status: MadStatus.TOO_MANY_RECORDS, records: [] };
  return { status: MadStatus.SUCCESS, records: found.slice(0, 1) };
}

function find(sources: Sources, request: RecordRequest, nowNs: number): Uint8Array[] | undefined {
  const { subnet, options, services } = sources;
  const { attribute, method, mask, data, isTrusted } = request;
  switch (attribute) {
    case A.PORT_INFO_RECORD:
      return findPorts(subnet, request);
    case A.PATH_RECORD:
      return pathRecords(subnet, options, data, mask, pathLimit(data, mask, method === MadMethod.GET_TABLE));
    case A.MC_MEMBER_RECORD:
      return findMembers(sources.groups, request);
    case A.SERVICE_RECORD:
      return services
        .records(nowNs, isTrusted)
        .filter((record) => matches('service-record', mask, data, record, ['lease', 'serviceKey']));
    default: {
      const list = LISTS[attribute];
      return list?.[1](sources).filter((record) => matches(list[0], mask, data, record));
    }
  }
}

function findPorts(subnet: Subnet, { mask, data }: RecordRequest): Uint8Array[] {
  const view = viewOf(data);
  const name = 'port-info-record';
  const matchesBits = asksFor(name, mask, 'options') && (getPortInfoRecordOptions(view, 0) & MATCHES_BITS) !== 0;
  const bits = getPortInfoRecordCapabilityMask(view, 0);
  const except = matchesBits ? ['options', 'capabilityMask'] : ['options'];
  const comparesBits = matchesBits && asksFor(name, mask, 'capabilityMask');
  return portInfoRecords(subnet).filter((record) => {
    if (!matches(name, mask, data, record, except)) return false;
    return !comparesBits || (getPortInfoRecordCapabilityMask(viewOf(record), 0) & bits) >>> 0 === bits;
  });
}

/** Members for trusted requesters, and those of a port that is named; else groups. */
function findMembers(groups: SubnetGroups, { mask, data, isTrusted }: RecordRequest): Uint8Array[] {
  const name = 'mc-member-record';
  const view = viewOf(data);
  const wanted = asksFor(name, mask, 'portGid') ? readGid(view, MC_MEMBER_RECORD_PORT_GID_OFFSET) : undefined;
  return groups.all
    .filter((group) => meetsSelectors(group, view, mask))
    .flatMap((group) => {
      if (wanted === undefined && !isTrusted) return [memberRecord(group, undefined)];
      return [...group.members.values()].map((member) => memberRecord(group, member));
    })
    .filter((record) => matches(name, mask, data, record, CHOSEN));
}

function classPortInfo(): Uint8Array {
  const info = new Uint8Array(CLASS_PORT_INFO_SIZE);
  const view = viewOf(info);
  setClassPortInfoInfoBaseVersion(view, 0, 1);
  setClassPortInfoInfoClassVersion(view, 0, SA_CLASS_VERSION);
  setClassPortInfoCapabilityMask(view, 0, CAPABILITIES);
  setClassPortInfoCapabilityMask2(view, 0, SEND_ONLY_FULL_MEMBER);
  setClassPortInfoResponseTime(view, 0, RESPONSE_TIME);
  return info;
}
