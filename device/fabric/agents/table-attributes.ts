// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes that are tables of a port (IBTA 14.2.5.5 and 14.2.5.7 to 14.2.5.9): GUIDInfo,
 * P_KeyTable, SLtoVLMappingTable and VLArbitrationTable, in blocks that the attribute modifier
 * names. The subnet management agent calls the handlers.
 */
import { GID_SIZE } from '../../../protocol/infiniband/addresses.ts';
import {
  getPKeyTablePKey,
  P_KEY_TABLE_P_KEY_COUNT,
  setPKeyTablePKey,
} from '../../../protocol/infiniband/mad/gen/p-key-table.gen.ts';
import {
  getSlToVlTableVl,
  SL_TO_VL_TABLE_VL_COUNT,
  setSlToVlTableVl,
} from '../../../protocol/infiniband/mad/gen/sl-to-vl-table.gen.ts';
import { MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type EndPort, PortChange, setGuid } from '../port/end-port.ts';
import type { LinkEnd } from '../port/link.ts';
import { type AttributeHandler, type AttributeRequest, DATA, namedPort, subnetData } from './attribute-request.ts';
import { endPortOf, isSwitch } from './managed-node.ts';

const GUID_BYTES = 8;
const GUIDS_PER_BLOCK = 8;
const PKEYS_PER_BLOCK = P_KEY_TABLE_P_KEY_COUNT;
const LEVELS = SL_TO_VL_TABLE_VL_COUNT;
const ARBITRATION_BLOCK_BYTES = 64;

/**
 * The GUID of a GID table entry of another prefix is not shown: subnet management did not set it.
 */
function getGuidInfo(request: AttributeRequest): MadStatus {
  const port = guidPort(request);
  if (port === undefined) return MadStatus.INVALID_VALUE;
  const data = subnetData(request).fill(0);
  for (let entry = 0; entry < GUIDS_PER_BLOCK; entry++) {
    const at = (request.modifier * GUIDS_PER_BLOCK + entry) * GID_SIZE;
    if (at >= port.gids.length || port.subnetPrefix.some((byte, index) => port.gids[at + index] !== byte)) continue;
    data.set(port.gids.subarray(at + GUID_BYTES, at + GID_SIZE), entry * GUID_BYTES);
  }
  return MadStatus.SUCCESS;
}

/** The first GUID of a port is its own and stays. */
function setGuidInfo(request: AttributeRequest): MadStatus {
  const port = guidPort(request);
  if (port === undefined) return MadStatus.INVALID_VALUE;
  let changed = false;
  for (let entry = 0; entry < GUIDS_PER_BLOCK; entry++) {
    const index = request.modifier * GUIDS_PER_BLOCK + entry;
    if (index === 0 || index * GID_SIZE >= port.gids.length) continue;
    if (setGuid(port, index, request.bytes, DATA + entry * GUID_BYTES)) changed = true;
  }
  if (changed) port.onChange?.(port, PortChange.GID);
  return MadStatus.SUCCESS;
}

/** The port of arrival, if the block exists. */
function guidPort({ node, arrivalPort, modifier }: AttributeRequest): EndPort | undefined {
  const port = endPortOf(node, arrivalPort);
  return modifier * GUIDS_PER_BLOCK * GID_SIZE < port.gids.length ? port : undefined;
}

function getPkeyTable(request: AttributeRequest): MadStatus {
  const table = pkeysOf(request)?.table;
  if (table === undefined) return MadStatus.INVALID_VALUE;
  const first = (request.modifier & 0xffff) * PKEYS_PER_BLOCK;
  if (first >= table.length) return MadStatus.INVALID_VALUE;
  for (let entry = 0; entry < PKEYS_PER_BLOCK; entry++)
    setPKeyTablePKey(request.view, DATA, entry, table[first + entry] ?? 0);
  return MadStatus.SUCCESS;
}

function setPkeyTable(request: AttributeRequest): MadStatus {
  const named = pkeysOf(request);
  if (named === undefined) return MadStatus.INVALID_VALUE;
  const { table, port } = named;
  const first = (request.modifier & 0xffff) * PKEYS_PER_BLOCK;
  if (first >= table.length) return MadStatus.INVALID_VALUE;
  let changed = false;
  for (let entry = 0; entry < PKEYS_PER_BLOCK && first + entry < table.length; entry++) {
    const key = getPKeyTablePKey(request.view, DATA, entry);
    if (table[first + entry] === key) continue;
    table[first + entry] = key;
    changed = true;
  }
  if (changed) {
    port?.onChange?.(port, PortChange.PKEY);
    request.node.switchTables?.onTablesChanged?.();
  }
  return MadStatus.SUCCESS;
}

/** The upper half of the modifier is the port of a switch; adapters have the port of arrival. */
function pkeysOf(request: AttributeRequest): { table: Uint16Array; port: EndPort | undefined } | undefined {
  const { node, modifier, arrivalPort } = request;
  const number = modifier >>> 16;
  if (!isSwitch(node)) {
    const port = endPortOf(node, arrivalPort);
    return { table: port.pkeys, port };
  }
  if (number === 0) return { table: node.endPorts[0].pkeys, port: node.endPorts[0] };
  const table = number > node.ports.length ? undefined : node.switchTables?.pkeysOf(number);
  return table === undefined ? undefined : { table, port: undefined };
}

function getServiceLevels(request: AttributeRequest): MadStatus {
  const vls = vlMap(request);
  if (vls === undefined) return MadStatus.INVALID_VALUE;
  subnetData(request).fill(0);
  for (let level = 0; level < LEVELS; level++) setSlToVlTableVl(request.view, DATA, level, vls.get(level));
  return MadStatus.SUCCESS;
}

function setServiceLevels(request: AttributeRequest): MadStatus {
  const vls = vlMap(request);
  if (vls === undefined) return MadStatus.INVALID_VALUE;
  for (let level = 0; level < LEVELS; level++) vls.set(level, getSlToVlTableVl(request.view, DATA, level));
  request.node.switchTables?.onTablesChanged?.();
  return MadStatus.SUCCESS;
}

interface VlMap {
  get(level: number): number;
  set(level: number, virtualLane: number): void;
}

/**
 * A switch has a map for each pair of ports: input in bits 8 to 15 of the modifier, output below.
 */
function vlMap({ node, modifier, arrivalPort }: AttributeRequest): VlMap | undefined {
  const { switchTables } = node;
  if (switchTables === undefined) {
    const queues = node.ports[arrivalPort - 1].transmitQueues;
    return {
      get: (level) => queues.getVirtualLane(level),
      set: (level, virtualLane) => queues.setVirtualLane(level, virtualLane),
    };
  }
  const [input, output] = [(modifier >>> 8) & 0xff, modifier & 0xff];
  if (modifier > 0xffff || input > node.ports.length || output > node.ports.length) return undefined;
  return {
    get: (level) => switchTables.getVirtualLane(input, output, level),
    set: (level, virtualLane) => switchTables.setVirtualLane(input, output, level, virtualLane),
  };
}

function getArbitration(request: AttributeRequest): MadStatus {
  const block = arbitrationBlock(request);
  if (block === undefined) return MadStatus.INVALID_VALUE;
  subnetData(request).set(block.bytes);
  return MadStatus.SUCCESS;
}

function setArbitration(request: AttributeRequest): MadStatus {
  const block = arbitrationBlock(request);
  if (block === undefined) return MadStatus.INVALID_VALUE;
  block.bytes.set(subnetData(request));
  block.end.applyArbitration();
  return MadStatus.SUCCESS;
}

/** Blocks 1 and 2 are the table of low priority, 3 and 4 that of high priority. */
function arbitrationBlock(request: AttributeRequest): { end: LinkEnd; bytes: Uint8Array } | undefined {
  const block = request.modifier >>> 16;
  const number = isSwitch(request.node) ? request.modifier & 0xffff : request.arrivalPort;
  const end = namedPort(request, number)?.end;
  if (end === undefined || block < 1 || block > 4) return undefined;
  const table = block <= 2 ? end.settings.vlArbitrationLow : end.settings.vlArbitrationHigh;
  const at = ((block - 1) % 2) * ARBITRATION_BLOCK_BYTES;
  return { end, bytes: table.subarray(at, at + ARBITRATION_BLOCK_BYTES) };
}

export const guidInfoHandler: AttributeHandler = { get: getGuidInfo, set: setGuidInfo };
export const pkeyTableHandler: AttributeHandler = { get: getPkeyTable, set: setPkeyTable };
export const serviceLevelHandler: AttributeHandler = { get: getServiceLevels, set: setServiceLevels };
export const arbitrationHandler: AttributeHandler = { get: getArbitration, set: setArbitration };
