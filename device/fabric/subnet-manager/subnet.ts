// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet as the manager knows it: nodes, ports, links, and the tables that were last read or
 * written. A sweep builds a new one; routing, assignment and subnet administration read it. It
 * keeps attributes as the bytes of the wire (IBTA 14.2.5).
 */

import {
  getPortInfoCapabilityMask,
  getPortInfoLid,
  getPortInfoLmc,
  getPortInfoPortState,
  PORT_INFO_SIZE,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { NodeType, PortState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import type { Guid } from './guid.ts';

/** Output ports on the way from the manager, first one first. */
export type DirectedPath = readonly number[];

/** Blocks of a table by number; an absent block is not known. */
export type Blocks = Map<number, Uint8Array>;

export class SubnetPort {
  readonly node: SubnetNode;
  readonly number: number;
  /** GUID of the port; external ports of a switch have none of their own and name their switch. */
  readonly guid: Guid;
  /** The route to the agent of the port. */
  path: DirectedPath;
  readonly info: Uint8Array = new Uint8Array(PORT_INFO_SIZE);
  readonly view: DataView = viewOf(this.info);
  peer: SubnetPort | undefined = undefined;
  /** It has not answered this sweep: what is known of it comes from an earlier one. */
  isSilent = false;
  readonly pKeys: Blocks = new Map();
  readonly guids: Blocks = new Map();
  /** SL-to-VL tables by input port; 0 for a channel adapter. */
  readonly vlMaps: Blocks = new Map();
  readonly arbitration: Blocks = new Map();

  constructor(node: SubnetNode, number: number, guid: Guid, path: DirectedPath) {
    this.node = node;
    this.number = number;
    this.guid = guid;
    this.path = path;
  }

  /** LID of the port; external ports of a switch have that of port 0. */
  get lid(): number {
    const { node } = this;
    return getPortInfoLid(node.isSwitch && this.number !== 0 ? node.ports[0].view : this.view, 0);
  }

  /** Number of LIDs, from `lid`. */
  get lidCount(): number {
    return 1 << getPortInfoLmc(this.view, 0);
  }

  get state(): number {
    return getPortInfoPortState(this.view, 0);
  }

  /** True if packets of subnet management pass the port. */
  get isUp(): boolean {
    return this.state >= PortState.INITIALIZE;
  }

  /** True for ports with a LID of their own. */
  get isEndPort(): boolean {
    return !this.node.isSwitch || this.number === 0;
  }

  has(capability: number): boolean {
    return (getPortInfoCapabilityMask(this.view, 0) & capability) !== 0;
  }
}

export class SubnetNode {
  readonly guid: Guid;
  readonly type: number;
  readonly portCount: number;
  readonly nodeInfo: Uint8Array;
  description: Uint8Array = new Uint8Array(64);
  switchInfo: Uint8Array = new Uint8Array(20);
  /** By number; a channel adapter has those that were found, a switch all, from 0. */
  readonly ports: SubnetPort[] = [];
  /** Blocks of the linear forwarding table, 64 LIDs each. */
  readonly linear: Blocks = new Map();
  /** Blocks of the multicast forwarding table, by block number and position. */
  readonly multicast: Blocks = new Map();

  constructor(guid: Guid, type: number, portCount: number, nodeInfo: Uint8Array) {
    this.guid = guid;
    this.type = type;
    this.portCount = portCount;
    this.nodeInfo = nodeInfo;
  }

  get isSwitch(): boolean {
    return this.type === NodeType.SWITCH;
  }

  /** The ports that were found, in order. */
  get knownPorts(): SubnetPort[] {
    return this.ports.filter((port) => port !== undefined);
  }

  /** The ports with a link to other nodes. */
  get linkedPorts(): SubnetPort[] {
    return this.knownPorts.filter((port) => port.peer !== undefined);
  }
}

export class Subnet {
  readonly nodes: Map<Guid, SubnetNode> = new Map();
  /** Port on which the manager runs. */
  ownPort: SubnetPort | undefined = undefined;
  /** Requests of the sweep that had no response. */
  silent = 0;
  /** Nodes left out because another node has the same GUID. */
  readonly duplicates: Guid[] = [];
  #endPorts: readonly SubnetPort[] | undefined = undefined;
  #portsByGuid: ReadonlyMap<Guid, SubnetPort> | undefined = undefined;

  get switches(): SubnetNode[] {
    return [...this.nodes.values()].filter((node) => node.isSwitch);
  }

  /** Ports with LIDs, in the order in which they were found; asked for once all are. */
  get endPorts(): readonly SubnetPort[] {
    this.#endPorts ??= [...this.nodes.values()].flatMap((node) => node.knownPorts.filter((port) => port.isEndPort));
    return this.#endPorts;
  }

  /** The first port of this GUID; asked for once all are found. */
  portOfGuid(guid: Guid): SubnetPort | undefined {
    // Of two entries with the same key the later one stays.
    this.#portsByGuid ??= new Map([...this.endPorts].reverse().map((port) => [port.guid, port]));
    return this.#portsByGuid.get(guid);
  }

  portOfLid(lid: number): SubnetPort | undefined {
    return this.endPorts.find((port) => lid >= port.lid && lid < port.lid + port.lidCount);
  }
}

/** Joins two ports; the link is seen from both ends. */
export function join(one: SubnetPort, other: SubnetPort): void {
  one.peer = other;
  other.peer = one;
}
