// SPDX-License-Identifier: Apache-2.0
/**
 * A node as its agents see it: what subnet management and performance management read and set (IBTA
 * chapters 14 and 16). Adapters, virtual adapters and switches implement it. The external ports are
 * ends of links, numbered from 1; a switch also has the management port 0.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { EndPort } from '../port/end-port.ts';
import type { LinkEnd } from '../port/link.ts';

/** The tables of a switch that a subnet manager writes (IBTA 14.2.5.4, 14.2.5.8 to 14.2.5.12). */
export interface SwitchTables {
  /** Output port by LID; 255: none. Its length is the capacity. */
  readonly linear: Uint8Array;
  linearTop: number;
  /** Number of multicast LIDs, from 0xc000. */
  readonly multicastCapacity: number;
  multicastTop: number;
  defaultMulticastPrimaryPort: number;
  defaultMulticastNotPrimaryPort: number;
  /** Code of the longest time of a packet in the switch, 4.096 us * 2^n; above 19: no limit. */
  lifeTime: number;
  /** A port has changed its state since a manager last cleared the flag. */
  portStateChange: boolean;
  /**
   * Output ports of multicast LID 0xc000 + `index` as a mask: bit 0 of position 0 is port 0, of
   * position 1 port 16.
   */
  getMulticastPorts(index: number, position: number): number;
  setMulticastPorts(index: number, position: number, mask: number): void;
  /** VL of packets of a service level that go from a port to a port; 15: they are dropped. */
  getVirtualLane(inPort: number, outPort: number, serviceLevel: number): number;
  setVirtualLane(inPort: number, outPort: number, serviceLevel: number, virtualLane: number): void;
  /** Partition keys that external port `portNumber` enforces. */
  pkeysOf(portNumber: number): Uint16Array;
  /** Called after a manager has written a table; the switch may keep derived tables. */
  onTablesChanged?(): void;
}

export interface ManagedNode {
  readonly nodeType: NodeType;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  /** Text of 64 bytes, padded with zeros. */
  readonly description: Uint8Array;
  readonly vendorId: number;
  readonly deviceId: number;
  readonly revision: number;
  /** External ports; port n is entry n - 1. */
  readonly ports: readonly LinkEnd[];
  /** Ends of paths: one for each external port of an adapter, port 0 alone for a switch. */
  readonly endPorts: readonly EndPort[];
  /** Present in a switch only. */
  readonly switchTables?: SwitchTables;
}

export function isSwitch(node: ManagedNode): boolean {
  return node.nodeType === NodeType.SWITCH;
}

/** Highest number of a port. */
export function portCount(node: ManagedNode): number {
  return node.ports.length;
}

/** The end of paths that belongs to a port: its own, or port 0 of a switch. */
export function endPortOf(node: ManagedNode, portNumber: number): EndPort {
  return node.endPorts[isSwitch(node) ? 0 : portNumber - 1];
}

/** Returns a node description: UTF-8 text, cut to 64 bytes. */
export function nodeDescription(text: string): Uint8Array {
  const bytes = new Uint8Array(64);
  new TextEncoder().encodeInto(text, bytes);
  return bytes;
}
