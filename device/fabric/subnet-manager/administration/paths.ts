// SPDX-License-Identifier: Apache-2.0
/**
 * Path records (IBTA 15.2.5.16): the paths between two ports that share a partition, with the least
 * MTU and the lowest rate on the way. A path from a port to itself needs no switch.
 * `Administration` answers PathRecord and MultiPathRecord with it.
 */

import {
  getPathRecordDlid,
  getPathRecordMtu,
  getPathRecordMtuSelector,
  getPathRecordPacketLifeTime,
  getPathRecordPacketLifeTimeSelector,
  getPathRecordPathCount,
  getPathRecordPKey,
  getPathRecordRate,
  getPathRecordRateSelector,
  getPathRecordServiceLevel,
  getPathRecordSlid,
  PATH_RECORD_DGID_OFFSET,
  PATH_RECORD_SGID_OFFSET,
  PATH_RECORD_SIZE,
  setPathRecordDlid,
  setPathRecordMtu,
  setPathRecordMtuSelector,
  setPathRecordPacketLifeTime,
  setPathRecordPacketLifeTimeSelector,
  setPathRecordPathCount,
  setPathRecordPKey,
  setPathRecordRate,
  setPathRecordRateSelector,
  setPathRecordReversible,
  setPathRecordServiceLevel,
  setPathRecordSlid,
} from '../../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import {
  getPortInfoMtuCapability,
  getPortInfoNeighborMtu,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { PathSelector, PortState } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Gid, type Guid, readGid, readGuid, writeGidText } from '../guid.ts';
import type { SubnetManagerOptions } from '../options.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';
import { mayTalk } from '../sweep/partitions.ts';
import { keysOfPort, SUBNET_TIMEOUT } from '../sweep/port-settings.ts';
import { isLevelUsed } from '../vl-options.ts';
import { asksFor, type ComponentMask } from './components.ts';
import { lesser, mtuCodes, rateCodes, rateOf, select, selectTime } from './selectors.ts';

const RECORD = 'path-record';
const BLOCK_OF_LIDS = 64;
const GUID_BYTES = 8;

/** Options on which paths depend besides the subnet. */
export type PathOptions = Pick<SubnetManagerOptions, 'subnetPrefix' | 'lanes'>;

/** LIDs of both ends of a path. */
interface LidPair {
  readonly slid: number;
  readonly dlid: number;
}

/** Limits of a path. */
interface PathLimits {
  readonly mtu: number;
  readonly rate: number;
}

/** The port with a GID: prefix and port GUID, or one of the further GUIDs of the port. */
export function portOfGid(subnet: Subnet, prefix: Guid, gid: Gid): SubnetPort | undefined {
  if (!gid.startsWith(prefix)) return undefined;
  const guid = gid.slice(prefix.length);
  return subnet.portOfGuid(guid) ?? subnet.endPorts.find((port) => hasGuid(port, guid));
}

function hasGuid(port: SubnetPort, guid: Guid): boolean {
  for (const block of port.guids.values()) {
    for (let offset = 0; offset < block.length; offset += GUID_BYTES)
      if (readGuid(viewOf(block), offset) === guid) return true;
  }
  return false;
}

/**
 * Most paths between two ports that a query asks for (IBTA 15.2.5.16): a Get has one, whatever it
 * says. IP over InfiniBand asks again with the record of its last answer, and opensm's have a count
 * of 0.
 */
export function pathLimit(query: Uint8Array, mask: ComponentMask, isTable: boolean): number {
  if (!isTable) return 1;
  return asksFor(RECORD, mask, 'pathCount') ? getPathRecordPathCount(viewOf(query), 0) : Infinity;
}

/** Records of the paths that a query asks for, at most `limit` between two ports. */
export function pathRecords(
  subnet: Subnet,
  options: PathOptions,
  query: Uint8Array,
  mask: ComponentMask,
  limit: number,
): Uint8Array[] {
  const { subnetPrefix: prefix, lanes } = options;
  const view = viewOf(query);
  const sources = ends(subnet, prefix, view, mask, 'sgid', PATH_RECORD_SGID_OFFSET, getPathRecordSlid(view, 0));
  const targets = ends(subnet, prefix, view, mask, 'dgid', PATH_RECORD_DGID_OFFSET, getPathRecordDlid(view, 0));
  const level = asksFor(RECORD, mask, 'serviceLevel') ? getPathRecordServiceLevel(view, 0) : 0;
  if (level !== 0 && !isLevelUsed(lanes, level)) return [];
  const keys = new Map<SubnetPort, number[]>();
  const records: Uint8Array[] = [];
  for (const source of sources) {
    for (const target of targets) {
      const pairs = lidPairs(source, target, view, mask).slice(0, limit);
      for (const lids of pairs) {
        const found = pathBetween(subnet, prefix, source, target, lids, view, mask, keys);
        if (found !== undefined) records.push(found);
      }
    }
  }
  return records;
}

/**
 * LIDs of the paths between two ports: those of the query, or the first of one with the first of
 * the other, and so on. The switches may have ways of their own for each LID (IBTA 15.2.5.16).
 */
function lidPairs(source: SubnetPort, target: SubnetPort, query: DataView, mask: ComponentMask): LidPair[] {
  const slids = asksFor(RECORD, mask, 'slid') ? [getPathRecordSlid(query, 0)] : lidsOf(source);
  const dlids = asksFor(RECORD, mask, 'dlid') ? [getPathRecordDlid(query, 0)] : lidsOf(target);
  return Array.from({ length: Math.max(slids.length, dlids.length) }, (_, index) => {
    return { slid: slids[index % slids.length], dlid: dlids[index % dlids.length] };
  });
}

function lidsOf({ lid, lidCount }: SubnetPort): number[] {
  return Array.from({ length: lidCount }, (_, index) => lid + index);
}

/** Ports at one end: those with the GID and the LID of the query, or all. */
function ends(
  subnet: Subnet,
  prefix: Guid,
  view: DataView,
  mask: ComponentMask,
  gidName: 'sgid' | 'dgid',
  gidOffset: number,
  lid: number,
): readonly SubnetPort[] {
  let { endPorts: ports } = subnet;
  if (asksFor(RECORD, mask, gidName)) {
    const port = portOfGid(subnet, prefix, readGid(view, gidOffset));
    ports = port === undefined ? [] : [port];
  }
  if (asksFor(RECORD, mask, gidName === 'sgid' ? 'slid' : 'dlid')) {
    const port = subnet.portOfLid(lid);
    ports = ports.filter((each) => each === port);
  }
  return ports;
}

function pathBetween(
  subnet: Subnet,
  prefix: Guid,
  source: SubnetPort,
  target: SubnetPort,
  lids: LidPair,
  query: DataView,
  mask: ComponentMask,
  keys: Map<SubnetPort, number[]>,
): Uint8Array | undefined {
  const pKey = keyOfPath(source, target, query, mask, keys);
  if (pKey === undefined) return undefined;
  const limits = trace(subnet, source, target, lids.dlid);
  if (limits === undefined) return undefined;
  const asks = (name: string) => asksFor(RECORD, mask, name) && asksFor(RECORD, mask, `${name}Selector`);
  const mtu = asks('mtu')
    ? select(mtuCodes, getPathRecordMtuSelector(query, 0), getPathRecordMtu(query, 0), limits.mtu)
    : limits.mtu;
  const rate = asks('rate')
    ? select(rateCodes, getPathRecordRateSelector(query, 0), getPathRecordRate(query, 0), limits.rate)
    : limits.rate;
  const least = source === target ? 0 : SUBNET_TIMEOUT;
  const life = asks('packetLifeTime')
    ? selectTime(getPathRecordPacketLifeTimeSelector(query, 0), getPathRecordPacketLifeTime(query, 0), least)
    : least;
  if (mtu === undefined || rate === undefined || life === undefined) return undefined;
  return buildPath(prefix, source, target, query, mask, { ...lids, pKey, mtu, rate, life });
}

/** The key that both ends share: that of the query, or the first one. */
function keyOfPath(
  source: SubnetPort,
  target: SubnetPort,
  query: DataView,
  mask: ComponentMask,
  known: Map<SubnetPort, number[]>,
): number | undefined {
  const keys = [source, target].map((port) => {
    const before = known.get(port);
    const found = before ?? keysOfPort(port);
    if (before === undefined) known.set(port, found);
    return found;
  });
  const wanted = asksFor(RECORD, mask, 'pKey') ? getPathRecordPKey(query, 0) : undefined;
  return keys[0].find((key) => {
    if (wanted !== undefined && (key & 0x7fff) !== (wanted & 0x7fff)) return false;
    // A limited member may talk to itself.
    return source === target || keys[1].some((other) => mayTalk(key, other));
  });
}

/** Follows the forwarding tables; undefined when they do not lead to the target. */
function trace(subnet: Subnet, source: SubnetPort, target: SubnetPort, dlid: number): PathLimits | undefined {
  const isUsable = (port: SubnetPort) => port.number === 0 || port.state === PortState.ACTIVE;
  if (source.lid === 0 || target.lid === 0 || !isUsable(source) || !isUsable(target)) return undefined;
  let mtu = getPortInfoMtuCapability(source.view, 0) || mtuCodes[mtuCodes.length - 1];
  let rate = source.number === 0 ? rateCodes[rateCodes.length - 1] : rateOf(source);
  if (source === target) return { mtu, rate };
  let at: SubnetPort | undefined = source;
  for (let hops = 0; hops <= subnet.nodes.size; hops++) {
    const out: SubnetPort | undefined = at.node.isSwitch ? outputOf(at, dlid) : at;
    if (out === undefined || out === target) return out && { mtu, rate };
    if (out.peer === undefined || out.number === 0) return undefined;
    mtu = Math.min(mtu, getPortInfoNeighborMtu(out.view, 0) || mtu);
    rate = lesser(rateCodes, rate, rateOf(out));
    at = out.peer;
    if (at === target) return { mtu, rate };
    if (!at.node.isSwitch) return undefined;
  }
  return undefined;
}

function outputOf({ node }: SubnetPort, lid: number): SubnetPort | undefined {
  const number = node.linear.get(Math.floor(lid / BLOCK_OF_LIDS))?.[lid % BLOCK_OF_LIDS];
  return number === undefined ? undefined : node.ports[number];
}

function buildPath(
  prefix: Guid,
  source: SubnetPort,
  target: SubnetPort,
  query: DataView,
  mask: ComponentMask,
  path: LidPair & { readonly pKey: number; readonly mtu: number; readonly rate: number; readonly life: number },
): Uint8Array {
  const bytes = new Uint8Array(PATH_RECORD_SIZE);
  const view = viewOf(bytes);
  const gidOf = (name: string, offset: number, port: SubnetPort) =>
    asksFor(RECORD, mask, name) ? readGid(query, offset) : prefix + port.guid;
  writeGidText(view, PATH_RECORD_DGID_OFFSET, gidOf('dgid', PATH_RECORD_DGID_OFFSET, target));
  writeGidText(view, PATH_RECORD_SGID_OFFSET, gidOf('sgid', PATH_RECORD_SGID_OFFSET, source));
  setPathRecordDlid(view, 0, path.dlid);
  setPathRecordSlid(view, 0, path.slid);
  setPathRecordReversible(view, 0, 1);
  setPathRecordPathCount(view, 0, 1);
  setPathRecordPKey(view, 0, path.pKey);
  if (asksFor(RECORD, mask, 'serviceLevel')) setPathRecordServiceLevel(view, 0, getPathRecordServiceLevel(query, 0));
  setPathRecordMtuSelector(view, 0, PathSelector.EXACT);
  setPathRecordMtu(view, 0, path.mtu);
  setPathRecordRateSelector(view, 0, PathSelector.EXACT);
  setPathRecordRate(view, 0, path.rate);
  setPathRecordPacketLifeTimeSelector(view, 0, PathSelector.EXACT);
  setPathRecordPacketLifeTime(view, 0, path.life);
  return bytes;
}
