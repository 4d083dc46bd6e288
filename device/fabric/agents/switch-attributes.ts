// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes of switches (IBTA 14.2.5.4, 14.2.5.10, 14.2.5.12): SwitchInfo, and blocks of the
 * linear and the multicast forwarding table. The subnet management agent calls the handlers; other
 * nodes do not have these attributes.
 */
import { MULTICAST_LID_BASE } from '../../../protocol/infiniband/addresses.ts';
import {
  getMulticastForwardingTablePorts,
  MULTICAST_FORWARDING_TABLE_PORTS_COUNT,
  setMulticastForwardingTablePorts,
} from '../../../protocol/infiniband/mad/gen/multicast-forwarding-table.gen.ts';
import {
  decodeSwitchInfo,
  encodeSwitchInfo,
  newSwitchInfo,
} from '../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type AttributeHandler, type AttributeRequest, DATA, subnetData } from './attribute-request.ts';
import type { SwitchTables } from './managed-node.ts';

const LIDS_PER_LINEAR_BLOCK = 64;
const LIDS_PER_MULTICAST_BLOCK = MULTICAST_FORWARDING_TABLE_PORTS_COUNT;
const PORTS_PER_POSITION = 16;
const LIFE_TIME_MAX = 31;

const info = newSwitchInfo();

function getSwitchInfo(request: AttributeRequest): MadStatus {
  const { node, view } = request;
  const tables = node.switchTables as SwitchTables;
  info.linearCapacity = tables.linear.length;
  info.randomCapacity = 0;
  info.multicastCapacity = tables.multicastCapacity;
  info.linearTop = tables.linearTop;
  info.defaultPort = 0;
  info.defaultMulticastPrimaryPort = tables.defaultMulticastPrimaryPort;
  info.defaultMulticastNotPrimaryPort = tables.defaultMulticastNotPrimaryPort;
  info.lifeTime = tables.lifeTime;
  info.portStateChange = tables.portStateChange ? 1 : 0;
  info.optimizedSlToVl = 0;
  info.lidsPerPort = 0;
  info.partitionEnforcementCapacity = tables.pkeysOf(1).length;
  info.inboundEnforcement = 1;
  info.outboundEnforcement = 1;
  info.filterRawInbound = 1;
  info.filterRawOutbound = 1;
  info.enhancedPort0 = 1;
  info.multicastTop = tables.multicastTop;
  subnetData(request).fill(0);
  encodeSwitchInfo(view, DATA, info);
  return MadStatus.SUCCESS;
}

function setSwitchInfo({ node, view }: AttributeRequest): MadStatus {
  const tables = node.switchTables as SwitchTables;
  decodeSwitchInfo(view, DATA, info);
  if (info.linearTop >= tables.linear.length || info.lifeTime > LIFE_TIME_MAX) return MadStatus.INVALID_VALUE;
  if (![info.defaultMulticastPrimaryPort, info.defaultMulticastNotPrimaryPort].every(isPort)) {
    return MadStatus.INVALID_VALUE;
  }
  if (!isMulticastTopLegal(info.multicastTop, tables)) return MadStatus.INVALID_VALUE;
  tables.linearTop = info.linearTop;
  tables.multicastTop = info.multicastTop;
  tables.lifeTime = info.lifeTime;
  tables.defaultMulticastPrimaryPort = info.defaultMulticastPrimaryPort;
  tables.defaultMulticastNotPrimaryPort = info.defaultMulticastNotPrimaryPort;
  // Writing 1 clears the flag, and 0 leaves it.
  if (info.portStateChange === 1) tables.portStateChange = false;
  tables.onTablesChanged?.();
  return MadStatus.SUCCESS;

  /** 255 is no port: such packets are dropped. */
  function isPort(port: number): boolean {
    return port <= node.ports.length || port === 255;
  }
}

/** 0 sets no limit; 0xbfff says that the table is not in use. */
function isMulticastTopLegal(top: number, { multicastCapacity }: SwitchTables): boolean {
  return top === 0 || (top >= MULTICAST_LID_BASE - 1 && top < MULTICAST_LID_BASE + multicastCapacity);
}

function getLinearBlock(request: AttributeRequest): MadStatus {
  const { linear } = request.node.switchTables as SwitchTables;
  const first = request.modifier * LIDS_PER_LINEAR_BLOCK;
  if (first >= linear.length) return MadStatus.INVALID_VALUE;
  subnetData(request)
    .fill(255)
    .set(linear.subarray(first, first + LIDS_PER_LINEAR_BLOCK));
  return MadStatus.SUCCESS;
}

/** A port that does not exist drops the packets of its LIDs, as 255 does. */
function setLinearBlock(request: AttributeRequest): MadStatus {
  const tables = request.node.switchTables as SwitchTables;
  const first = request.modifier * LIDS_PER_LINEAR_BLOCK;
  if (first >= tables.linear.length) return MadStatus.INVALID_VALUE;
  const count = Math.min(LIDS_PER_LINEAR_BLOCK, tables.linear.length - first);
  tables.linear.set(subnetData(request).subarray(0, count), first);
  tables.onTablesChanged?.();
  return MadStatus.SUCCESS;
}

function getMulticastBlock(request: AttributeRequest): MadStatus {
  const block = multicastBlock(request);
  if (block === undefined) return MadStatus.INVALID_VALUE;
  const { tables, first, position } = block;
  for (let entry = 0; entry < LIDS_PER_MULTICAST_BLOCK; entry++) {
    const ports = first + entry < tables.multicastCapacity ? tables.getMulticastPorts(first + entry, position) : 0;
    setMulticastForwardingTablePorts(request.view, DATA, entry, ports);
  }
  return MadStatus.SUCCESS;
}

function setMulticastBlock(request: AttributeRequest): MadStatus {
  const block = multicastBlock(request);
  if (block === undefined) return MadStatus.INVALID_VALUE;
  const { tables, first, position } = block;
  for (let entry = 0; entry < LIDS_PER_MULTICAST_BLOCK && first + entry < tables.multicastCapacity; entry++)
    tables.setMulticastPorts(first + entry, position, getMulticastForwardingTablePorts(request.view, DATA, entry));
  tables.onTablesChanged?.();
  return MadStatus.SUCCESS;
}

/** Bits 28 to 31 of the modifier choose 16 ports, and bits 0 to 8 32 LIDs. */
function multicastBlock({
  node,
  modifier,
}: AttributeRequest): { tables: SwitchTables; first: number; position: number } | undefined {
  const tables = node.switchTables as SwitchTables;
  const position = modifier >>> 28;
  const first = (modifier & 0x1ff) * LIDS_PER_MULTICAST_BLOCK;
  if ((modifier & 0x0ffffe00) !== 0 || first >= tables.multicastCapacity) return undefined;
  return position * PORTS_PER_POSITION > node.ports.length ? undefined : { tables, first, position };
}

export const switchInfoHandler: AttributeHandler = { get: getSwitchInfo, set: setSwitchInfo };
export const linearTableHandler: AttributeHandler = { get: getLinearBlock, set: setLinearBlock };
export const multicastTableHandler: AttributeHandler = { get: getMulticastBlock, set: setMulticastBlock };
