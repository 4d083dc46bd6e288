// SPDX-License-Identifier: Apache-2.0
/**
 * Writer of port settings: PortInfo with LIDs, MTU and VLs, P_Key tables, then the states ARMED and
 * ACTIVE (IBTA 14.2.5.6, 14.3.6). Only ports that differ are written. Called by the sweep.
 */
import {
  getPKeyTablePKey,
  P_KEY_TABLE_P_KEY_COUNT,
  P_KEY_TABLE_SIZE,
  setPKeyTablePKey,
} from '../../../../protocol/infiniband/mad/gen/p-key-table.gen.ts';
import {
  getPortInfoMtuCapability,
  getPortInfoOperationalVls,
  getPortInfoVlCapability,
  PORT_INFO_GID_PREFIX_OFFSET,
  PORT_INFO_M_KEY_OFFSET,
  PORT_INFO_SIZE,
  setPortInfoClientReregister,
  setPortInfoLid,
  setPortInfoLmc,
  setPortInfoMasterSmLid,
  setPortInfoMasterSmSl,
  setPortInfoMKeyLease,
  setPortInfoMKeyProtect,
  setPortInfoNeighborMtu,
  setPortInfoOperationalVls,
  setPortInfoPartitionEnforcementInbound,
  setPortInfoPartitionEnforcementOutbound,
  setPortInfoPortPhysicalState,
  setPortInfoPortState,
  setPortInfoSubnetTimeout,
  setPortInfoVlHighLimit,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import {
  MadStatus,
  PortCapability,
  PortPhysicalState,
  PortState,
  SubnetAttribute,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { mtuCode } from '../../../../protocol/infiniband/mtu.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Guid, NO_GUID, readGuid, sameBytes, writeGuid } from '../guid.ts';
import { protectionOf, type SubnetManagerOptions } from '../options.ts';
import { NO_ANSWER, type SmpJob, type SmpRequest, set } from '../smp-client.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';
import { hasTables, vlsOfCode } from '../vl-options.ts';
import { keyBlocks, PORT_SHIFT } from './discovery.ts';
import { lmcOf } from './lids.ts';
import { keysOf } from './partitions.ts';

/** Time of a packet in the subnet, as opensm has it: 4.096 us * 2^18, about 1 s. */
export const SUBNET_TIMEOUT = 18;
const KEYS_PER_BLOCK = P_KEY_TABLE_P_KEY_COUNT;
const SMALLEST_MTU_CODE = mtuCode(256);

/** Counts of what agents refused. */
export interface SweepCounters {
  /** Sets that were written, answered with an error, and not answered. */
  writes: number;
  refusals: number;
  silent: number;
  /** Partition keys for which the table of a port has no room. */
  cutKeys: number;
}

type Change = (view: DataView, port: SubnetPort) => void;

/** LIDs, keys and timeouts of end ports; MTU, VLs and enforcement of links. */
export function* writePortSettings(
  subnet: Subnet,
  lids: ReadonlyMap<SubnetPort, number>,
  options: SubnetManagerOptions,
  counters: SweepCounters,
): SmpJob {
  const { ownPort } = subnet;
  const smLid = (ownPort && lids.get(ownPort)) ?? 0;
  const enforces = options.partitions.some(({ members }) => members !== 'all');
  const change: Change = (view, port) => {
    if (port.isEndPort) {
      setPortInfoLid(view, 0, lids.get(port) ?? 0);
      setPortInfoLmc(view, 0, lmcOf(port, options.lmc));
      setPortInfoMasterSmLid(view, 0, smLid);
      setPortInfoMasterSmSl(view, 0, 0);
      writeGuid(view, PORT_INFO_GID_PREFIX_OFFSET, options.subnetPrefix);
      writeGuid(view, PORT_INFO_M_KEY_OFFSET, options.mKey);
      setPortInfoMKeyProtect(view, 0, protectionOf(options));
      setPortInfoMKeyLease(view, 0, options.mKeyLease);
      setPortInfoSubnetTimeout(view, 0, SUBNET_TIMEOUT);
    } else if (port.peer !== undefined && !port.peer.node.isSwitch && keyBlocks(port) > 0) {
      setPortInfoPartitionEnforcementInbound(view, 0, enforces ? 1 : 0);
      setPortInfoPartitionEnforcementOutbound(view, 0, enforces ? 1 : 0);
    }
    if (port.peer !== undefined && port.state === PortState.INITIALIZE) setLinkOptions(view, port, port.peer);
    const vls = vlsOfCode(getPortInfoOperationalVls(view, 0));
    if (port.peer !== undefined && hasTables(options.lanes, vls))
      setPortInfoVlHighLimit(view, 0, options.lanes.highLimit);
  };
  const ports = [...subnet.nodes.values()].flatMap((node) => node.knownPorts);
  // The key of a switch is that of its port 0.
  yield* writePorts(
    ports.filter((port) => port.isEndPort),
    change,
    counters,
    false,
  );
  yield* writePorts(
    ports.filter((port) => !port.isEndPort && port.peer !== undefined),
    change,
    counters,
    false,
  );
}

/** Both ends of a link have the same MTU and the same VLs: the lesser ones. */
function setLinkOptions(view: DataView, port: SubnetPort, peer: SubnetPort): void {
  const mtu = Math.min(getPortInfoMtuCapability(port.view, 0), getPortInfoMtuCapability(peer.view, 0));
  const vls = Math.min(getPortInfoVlCapability(port.view, 0), getPortInfoVlCapability(peer.view, 0));
  setPortInfoNeighborMtu(view, 0, Math.max(mtu, SMALLEST_MTU_CODE));
  setPortInfoOperationalVls(view, 0, Math.max(vls, 1));
}

/** INITIALIZE to ARMED at all linked ports, then ARMED to ACTIVE. */
export function* activate(subnet: Subnet, counters: SweepCounters): SmpJob {
  const linked = [...subnet.nodes.values()].flatMap((node) => node.linkedPorts);
  const steps = [
    [PortState.INITIALIZE, PortState.ARMED],
    [PortState.ARMED, PortState.ACTIVE],
  ] as const;
  for (const [before, after] of steps) {
    const change: Change = (view) => setPortInfoPortState(view, 0, after);
    yield* writePorts(
      linked.filter((port) => port.state === before),
      change,
      counters,
      true,
    );
  }
}

/** Tells clients to register again with subnet administration: groups, services, subscriptions. */
export function* reregister(subnet: Subnet, counters: SweepCounters): SmpJob {
  const clients = subnet.endPorts.filter(
    (port) => port.state === PortState.ACTIVE && port.has(PortCapability.CLIENT_REREGISTRATION),
  );
  yield* writePorts(clients, (view) => setPortInfoClientReregister(view, 0, 1), counters, true);
}

/** Writes PortInfo where `change` makes a difference, or everywhere when it is `forced`. */
function* writePorts(ports: readonly SubnetPort[], change: Change, counters: SweepCounters, forced: boolean): SmpJob {
  const requests: SmpRequest[] = [];
  const written: SubnetPort[] = [];
  for (const port of ports) {
    const before = unchanged(port.info);
    const after = before.slice();
    change(viewOf(after), port);
    if (!forced && sameBytes(before, after)) continue;
    requests.push({ ...set(port.path, SubnetAttribute.PORT_INFO, port.number, after), ...keyOf(port) });
    written.push(port);
  }
  const answers = yield requests;
  for (const [index, { status, data }] of answers.entries()) {
    if (count(status, counters)) written[index].info.set(data);
  }
}

/**
 * The key of a port that shows it: its lease has ended, so any manager may take the port over (IBTA
 * 14.2.4.2). A key that is hidden is that of this manager, or of no use to it.
 */
function keyOf(port: SubnetPort): { readonly key?: Guid } {
  const { view } = port.isEndPort ? port : port.node.ports[0];
  const key = readGuid(view, PORT_INFO_M_KEY_OFFSET);
  return key === NO_GUID ? {} : { key };
}

/** PortInfo as a Set that changes nothing. */
function unchanged(info: Uint8Array): Uint8Array {
  const copy = info.slice(0, PORT_INFO_SIZE);
  const view = viewOf(copy);
  setPortInfoPortState(view, 0, PortState.NO_CHANGE);
  setPortInfoPortPhysicalState(view, 0, PortPhysicalState.NO_CHANGE);
  setPortInfoClientReregister(view, 0, 0);
  return copy;
}

/** Counts a Set by its status. Returns true when it was carried out. */
export function count(status: number, counters: SweepCounters): boolean {
  counters.writes++;
  if (status === MadStatus.SUCCESS) return true;
  if (status === NO_ANSWER) counters.silent++;
  else counters.refusals++;
  return false;
}

/** P_Key tables of adapters, and of the switch ports that enforce them. */
export function* writePartitions(subnet: Subnet, options: SubnetManagerOptions, counters: SweepCounters): SmpJob {
  const requests: SmpRequest[] = [];
  const written: [SubnetPort, number, Uint8Array][] = [];
  const { ownPort } = subnet;
  for (const node of subnet.nodes.values()) {
    for (const port of node.knownPorts) {
      const holder = port.isEndPort ? port : port.peer;
      if (holder === undefined) continue;
      const keys = keysOf(holder.guid, options.partitions, holder.node === ownPort?.node);
      const room = keyBlocks(port) * KEYS_PER_BLOCK;
      if (room > 0) counters.cutKeys += Math.max(0, keys.length - room);
      for (let block = 0; block < keyBlocks(port); block++) {
        const after = keyBlock(keys, block);
        const before = port.pKeys.get(block);
        if (before !== undefined && sameBytes(before, after)) continue;
        const modifier = (node.isSwitch ? port.number << PORT_SHIFT : 0) | block;
        requests.push(set(port.path, SubnetAttribute.P_KEY_TABLE, modifier, after));
        written.push([port, block, after]);
      }
    }
  }
  const answers = yield requests;
  for (const [index, { status }] of answers.entries()) {
    const [port, block, after] = written[index];
    if (count(status, counters)) port.pKeys.set(block, after);
  }
}

function keyBlock(keys: readonly number[], block: number): Uint8Array {
  const bytes = new Uint8Array(P_KEY_TABLE_SIZE);
  const view = viewOf(bytes);
  for (let index = 0; index < KEYS_PER_BLOCK; index++)
    setPKeyTablePKey(view, 0, index, keys[block * KEYS_PER_BLOCK + index] ?? 0);
  return bytes;
}

/** Partition keys that a port has, as last read or written. */
export function keysOfPort(port: SubnetPort): number[] {
  const keys: number[] = [];
  for (const block of port.pKeys.values()) {
    const view = viewOf(block);
    for (let index = 0; index < KEYS_PER_BLOCK; index++) {
      const key = getPKeyTablePKey(view, 0, index);
      if (key !== 0) keys.push(key);
    }
  }
  return keys;
}
