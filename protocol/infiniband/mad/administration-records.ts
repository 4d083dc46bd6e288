// SPDX-License-Identifier: Apache-2.0
/**
 * Records of subnet administration as tables (IBTA 15.2.5). A record that wraps an attribute of
 * subnet management begins with the location of the attribute.
 */
import type { FieldRow, StructTable } from '../../layout/table.ts';
import { attribute } from './attribute.ts';
import {
  nodeInfoRows,
  portInfoRows,
  slToVlRow,
  smInfoRows,
  switchInfoRows,
  vlArbitrationRow,
} from './subnet-attributes.ts';

const GID_BYTES = 16;
const BLOCK: FieldRow = { name: 'entries', bytes: 64, doc: 'The block of the table.' };
const LID: FieldRow = { name: 'recordLid', bits: 16, doc: 'LID of the node or port.' };

/** A value with a selector: 0 greater, 1 less, 2 exactly, 3 the largest available. */
function selected(name: string, doc: string): readonly FieldRow[] {
  return [
    { name: `${name}Selector`, bits: 2, doc: `How ${name} is compared.`, values: 'path-selector' },
    { name, bits: 6, doc },
  ];
}

/** Shifts asserted offsets of an attribute that lies inside a record. */
function movedBy(bytes: number, rows: readonly FieldRow[]): readonly FieldRow[] {
  return rows.map((row) => (row.at === undefined ? row : { ...row, at: row.at + bytes }));
}

const INFORM_INFO: readonly FieldRow[] = [
  { name: 'gid', bytes: GID_BYTES, doc: 'Subscribed source; zeros: chosen by LID.' },
  { name: 'lidRangeBegin', bits: 16, doc: 'First LID of the subscribed sources; 0xffff: all.' },
  { name: 'lidRangeEnd', bits: 16, doc: 'Last LID of the subscribed sources.' },
  { bits: 16 },
  { name: 'isGeneric', bits: 8, doc: '1: notices of the specification.' },
  { name: 'subscribe', bits: 8, doc: '1 subscribes, 0 ends a subscription.' },
  { name: 'type', bits: 16, doc: 'Kind of notice; 0xffff: all.' },
  { name: 'trapNumber', bits: 16, doc: 'Trap; 0xffff: all.' },
  { name: 'qpn', bits: 24, doc: 'Queue pair that reports go to.' },
  { bits: 3 },
  { name: 'responseTime', bits: 5, doc: 'Time until the subscriber answers a report, 4.096 us * 2^n.' },
  { bits: 8 },
  { name: 'producerType', bits: 24, doc: 'Type of the node that issues, or vendor.' },
];

export const administrationRecords: readonly StructTable[] = [
  attribute('node-record', 'IBTA 15.2.5.2', 'NodeInfo and NodeDescription of a port.', 108, [
    LID,
    { bits: 16 },
    ...nodeInfoRows,
    { name: 'description', bytes: 64, at: 44, doc: 'Description of the node.' },
  ]),
  attribute('port-info-record', 'IBTA 15.2.5.3', 'PortInfo of a port.', 68, [
    LID,
    { name: 'recordPort', bits: 8, doc: 'Number of the port.' },
    { name: 'options', bits: 8, doc: 'Options of the query.' },
    ...movedBy(4, portInfoRows),
  ]),
  attribute('sl-to-vl-table-record', 'IBTA 15.2.5.4', 'SL-to-VL table of a port.', 16, [
    LID,
    { name: 'inputPort', bits: 8, doc: 'Input port of a switch; 0 for a channel adapter.' },
    { name: 'outputPort', bits: 8, doc: 'Output port of a switch; 0 for a channel adapter.' },
    { bits: 32 },
    slToVlRow,
  ]),
  attribute('switch-info-record', 'IBTA 15.2.5.5', 'SwitchInfo of a switch.', 24, [
    LID,
    { bits: 16 },
    ...switchInfoRows,
  ]),
  attribute('linear-forwarding-table-record', 'IBTA 15.2.5.6', 'A block of a linear forwarding table.', 72, [
    LID,
    { name: 'blockNumber', bits: 16, doc: 'Number of the block.' },
    { bits: 32 },
    BLOCK,
  ]),
  attribute('multicast-forwarding-table-record', 'IBTA 15.2.5.8', 'A block of a multicast forwarding table.', 72, [
    LID,
    { name: 'position', bits: 4, doc: 'Number of the group of 16 ports.' },
    { bits: 3 },
    { name: 'blockNumber', bits: 9, doc: 'Number of the block.' },
    { bits: 32 },
    BLOCK,
  ]),
  attribute('vl-arbitration-table-record', 'IBTA 15.2.5.9', 'A block of an arbitration table.', 72, [
    LID,
    { name: 'outputPort', bits: 8, doc: 'Number of the port.' },
    { name: 'blockNumber', bits: 8, doc: '1 and 2 low priority, 3 and 4 high priority.' },
    { bits: 32 },
    vlArbitrationRow,
  ]),
  attribute('sm-info-record', 'IBTA 15.2.5.10', 'SMInfo of a port.', 28, [LID, { bits: 16 }, ...smInfoRows]),
  attribute('p-key-table-record', 'IBTA 15.2.5.11', 'A block of a P_Key table.', 72, [
    LID,
    { name: 'blockNumber', bits: 16, doc: 'Number of the block.' },
    { name: 'recordPort', bits: 8, doc: 'Number of the port of a switch.' },
    { bits: 24 },
    BLOCK,
  ]),
  attribute('inform-info', 'IBTA 13.4.8.3', 'A subscription to notices.', 36, INFORM_INFO),
  attribute('inform-info-record', 'IBTA 15.2.5.12', 'A subscription and its subscriber.', 60, [
    { name: 'subscriberGid', bytes: GID_BYTES, doc: 'GID of the subscriber.' },
    { name: 'enumeration', bits: 16, doc: 'Number of the subscription.' },
    { bits: 16 },
    { bits: 32 },
    ...INFORM_INFO,
  ]),
  attribute('link-record', 'IBTA 15.2.5.13', 'A link, from one end.', 8, [
    { name: 'fromLid', bits: 16, doc: 'LID of this end.' },
    { name: 'fromPort', bits: 8, doc: 'Port of this end.' },
    { name: 'toPort', bits: 8, doc: 'Port of the other end.' },
    { name: 'toLid', bits: 16, doc: 'LID of the other end.' },
    { bits: 16 },
  ]),
  attribute('service-record', 'IBTA 15.2.5.14', 'A service that a port offers.', 176, [
    { name: 'serviceId', bits: 64, opaque: true, doc: 'Identifier of the service.' },
    { name: 'serviceGid', bytes: GID_BYTES, doc: 'Port that offers it.' },
    { name: 'servicePKey', bits: 16, doc: 'Partition in which it is offered.' },
    { bits: 16 },
    { name: 'lease', bits: 32, doc: 'Seconds for which it is registered; 0xffffffff: forever.' },
    { name: 'serviceKey', bytes: 16, doc: 'Key that protects the record.' },
    { name: 'serviceName', bytes: 64, doc: 'Name in UTF-8.' },
    { name: 'data', bytes: 64, doc: 'Data of the service.' },
  ]),
  attribute('path-record', 'IBTA 15.2.5.16', 'A path between two ports.', 64, [
    { name: 'serviceId', bits: 64, opaque: true, doc: 'Service that the path is for; 0: any.' },
    { name: 'dgid', bytes: GID_BYTES, at: 8, doc: 'GID of the destination.' },
    { name: 'sgid', bytes: GID_BYTES, at: 24, doc: 'GID of the source.' },
    { name: 'dlid', bits: 16, at: 40, doc: 'LID of the destination.' },
    { name: 'slid', bits: 16, doc: 'LID of the source.' },
    { name: 'rawTraffic', bits: 1, at: 44, doc: 'Raw packets may use the path.' },
    { bits: 3 },
    { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
    { name: 'hopLimit', bits: 8, doc: 'Hop limit; above 1, packets need a GRH.' },
    { name: 'trafficClass', bits: 8, at: 48, doc: 'Traffic class.' },
    { name: 'reversible', bits: 1, doc: 'The path can be used both ways.' },
    { name: 'pathCount', bits: 7, doc: 'Most paths of a response.' },
    { name: 'pKey', bits: 16, doc: 'Partition key.' },
    { name: 'qosClass', bits: 12, at: 52, doc: 'Class of quality of service.' },
    { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
    ...selected('mtu', 'Code of the largest payload.'),
    ...selected('rate', 'Code of the rate.'),
    ...selected('packetLifeTime', 'Time of a packet on the path, 4.096 us * 2^n.'),
    { name: 'preference', bits: 8, doc: 'Order of the paths of a response.' },
    { bits: 16 },
    { bits: 32 },
  ]),
  attribute('mc-member-record', 'IBTA 15.2.5.17', 'A multicast group and a member.', 52, [
    { name: 'mgid', bytes: GID_BYTES, doc: 'GID of the group.' },
    { name: 'portGid', bytes: GID_BYTES, doc: 'GID of the member.' },
    { name: 'qKey', bits: 32, doc: 'Queue key of the group.' },
    { name: 'mlid', bits: 16, doc: 'Multicast LID of the group.' },
    ...selected('mtu', 'Code of the largest payload.'),
    { name: 'trafficClass', bits: 8, doc: 'Traffic class.' },
    { name: 'pKey', bits: 16, at: 40, doc: 'Partition key.' },
    ...selected('rate', 'Code of the rate.'),
    ...selected('packetLifeTime', 'Time of a packet on the paths of the group, 4.096 us * 2^n.'),
    { name: 'serviceLevel', bits: 4, at: 44, doc: 'Service level.' },
    { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
    { name: 'hopLimit', bits: 8, doc: 'Hop limit.' },
    { name: 'scope', bits: 4, at: 48, doc: 'Scope of the GID of the group.' },
    { name: 'joinState', bits: 4, doc: 'Bit 0 full member, 1 non-member, 2 send-only, 3 send-only full.' },
    { name: 'proxyJoin', bits: 1, doc: 'The member was joined by another port.' },
    { bits: 7 },
    { bits: 16 },
  ]),
  attribute('guid-info-record', 'IBTA 15.2.5.18', 'A block of the GUIDs of a port.', 72, [
    LID,
    { name: 'blockNumber', bits: 8, doc: 'Number of the block.' },
    { bits: 8 },
    { bits: 32 },
    BLOCK,
  ]),
  attribute('multi-path-record', 'IBTA 15.2.5.20', 'Paths between groups of ports; the GIDs follow.', 24, [
    { name: 'rawTraffic', bits: 1, doc: 'Raw packets may use the paths.' },
    { bits: 3 },
    { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
    { name: 'hopLimit', bits: 8, doc: 'Hop limit.' },
    { name: 'trafficClass', bits: 8, doc: 'Traffic class.' },
    { name: 'reversible', bits: 1, doc: 'The paths can be used both ways.' },
    { name: 'pathCount', bits: 7, doc: 'Most paths of a response.' },
    { name: 'pKey', bits: 16, doc: 'Partition key.' },
    { name: 'qosClass', bits: 12, doc: 'Class of quality of service.' },
    { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
    ...selected('mtu', 'Code of the largest payload.'),
    ...selected('rate', 'Code of the rate.'),
    ...selected('packetLifeTime', 'Time of a packet on the paths, 4.096 us * 2^n.'),
    { name: 'serviceIdHigh', bits: 8, doc: 'Upper byte of the identifier of the service.' },
    { name: 'independence', bits: 8, doc: '1: the paths share as little as possible.' },
    { name: 'sgidCount', bits: 8, doc: 'Number of source GIDs.' },
    { name: 'dgidCount', bits: 8, at: 16, doc: 'Number of destination GIDs.' },
    { name: 'serviceIdLow', bytes: 7, doc: 'Lower bytes of the identifier of the service.' },
  ]),
];
