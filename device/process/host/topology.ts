// SPDX-License-Identifier: Apache-2.0
/**
 * The topology of one process: a fabric of adapters and switches, the sockets of the adapters'
 * functions, and links to ports of other processes (docs/TOPOLOGY.md). Ports without a link stay
 * as the options of their adapter join them; a port whose neighbour is taken by a link is left
 * unplugged. scripts/cli reads it from the command line and from files; `AdapterProcess` builds it.
 */

import type { PortLinkOptions } from '../../fabric/link/link-options.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { joinFunctions } from '../../topology/device-functions.ts';
import { findFabricError } from '../../topology/fabric-errors.ts';
import {
  type AdapterNode,
  defaultSwitchNode,
  type FabricPlan,
  type LocalLinkPlan,
  type StreamLinkPlan,
  type SubnetControl,
} from '../../topology/fabric-plan.ts';
import { LONE_NAME, type LoneFabric } from '../../topology/lone-fabric.ts';
import { functionCountOf, isEmbedding, portLidsOf, virtualLanesOf } from '../../topology/node-kinds.ts';
import { personalities } from '../../topology/personalities.ts';
import type { SocketLinkOptions } from './socket-link.ts';

export type AdapterPlan = AdapterNode & {
  /** A vfio-user socket for each function. */
  readonly sockets: readonly string[];
};

/** This process's end of a link to another one. */
export type SocketLinkPlan = StreamLinkPlan & SocketLinkOptions;

export type LinkPlan = LocalLinkPlan | SocketLinkPlan;

export interface Topology extends Omit<FabricPlan, 'adapters' | 'links' | 'streams'> {
  readonly adapters: readonly AdapterPlan[];
  readonly links: readonly LinkPlan[];
}

/** The switch of a lone adapter has ports for hosts of the door, too. */
const LONE_SWITCH = { name: 's', ports: 8 };

/** A topology of one adapter with our own front end, as `loneDevice` makes it. */
export function loneAdapter(
  socketPath: string,
  options: AdapterOptions = defaultAdapterOptions,
  links: readonly LinkPlan[] = [],
  fabric: LoneFabric = 'cable',
): Topology {
  return loneDevice(socketPath, [{ name: LONE_NAME, options }], links, fabric);
}

/**
 * A topology of one device of any kind, which is one node, or a node for each function. The socket
 * of each further function has the path of the first one, a dot and the function number.
 */
export function loneDevice(
  socketPath: string,
  nodes: readonly AdapterNode[],
  links: readonly LinkPlan[],
  fabric: LoneFabric,
): Topology {
  const functions = nodes.reduce((sum, node) => sum + functionCountOf(node), 0);
  const paths = Array.from({ length: functions }, (_, number) =>
    number === 0 ? socketPath : `${socketPath}.${number}`,
  );
  const served = nodes.map((node) => ({ ...node, sockets: paths.splice(0, functionCountOf(node)) }));
  const plain = { adapters: served, switches: [], links, subnet: controlWithoutSwitch(nodes) };
  if (fabric === 'cable') return { ...plain, links: [...joinFunctions(nodes, links.flatMap(portsOf)), ...links] };
  const adapters = served.map((node) => linkedBy(node, { kind: 'none' }));
  if (fabric === 'none') return { ...plain, adapters };
  const home = { ...defaultSwitchNode, ...LONE_SWITCH, virtualLanes: virtualLanesOf(nodes[0]) };
  const cables = portNamesOf(nodes).map((name, index): LocalLinkPlan => {
    return { ports: [name, `${LONE_SWITCH.name}:${index + 1}`], link: { kind: 'cable' } };
  });
  return { adapters, switches: [home], links: [...cables, ...links], subnet: 'managed' };
}

/** The sockets of each device whose functions are nodes: the functions belong into one PCI slot. */
export function slotsOf({ adapters }: Topology): string[][] {
  return adapters.flatMap((node) => {
    if (node.functionOf === undefined) return [];
    const first = adapters.find(({ name }) => name === node.functionOf);
    return [[...(first?.sockets ?? []), ...node.sockets]];
  });
}

/** Names of the ports of a device, in order. */
export function portNamesOf(nodes: readonly AdapterNode[]): string[] {
  return nodes.flatMap((node) => portLidsOf(node).map((_, index) => `${node.name}:${index + 1}`));
}

/** The node with another link between its ports. */
function linkedBy(node: AdapterPlan, portLink: PortLinkOptions): AdapterPlan {
  return node.personality === undefined
    ? { ...node, options: { ...node.options, portLink } }
    : { ...node, options: { ...node.options, portLink } };
}

/**
 * Default LID assignment for fabrics without switches besides embedded ones: the subnet manager at
 * the first of these, or nothing.
 */
export function controlWithoutSwitch(adapters: readonly AdapterNode[]): SubnetControl {
  return adapters.some(isEmbedding) ? 'managed' : 'fixed';
}

/** Names of the ports of this process that a link joins. */
export function portsOf(link: LinkPlan): readonly string[] {
  return 'ports' in link ? link.ports : [link.port];
}

/** The part of a topology that a recording holds and a replay rebuilds. */
export function fabricOf(topology: Topology): FabricPlan {
  return {
    ...topology,
    adapters: topology.adapters.map(({ sockets: _, ...node }) => node),
    links: topology.links.filter((link) => 'ports' in link),
    // A recording has neither keys nor addresses.
    streams: topology.links.flatMap((one) => ('port' in one ? [pickStream(one)] : [])),
  };
}

function pickStream({ port, link }: SocketLinkPlan): StreamLinkPlan {
  return link === undefined ? { port } : { port, link };
}

/** Returns one sentence about the first error, or undefined. */
export function findTopologyError(topology: Topology): string | undefined {
  const { adapters } = topology;
  if (adapters.length === 0) return 'there is no adapter; name at least one';
  return findSocketError(adapters) ?? findFabricError(fabricOf(topology));
}

function findSocketError(adapters: readonly AdapterPlan[]): string | undefined {
  const paths = new Set<string>();
  for (const adapter of adapters) {
    const { name, sockets } = adapter;
    const functions = functionCountOf(adapter);
    if (sockets.length === 0) return `adapter ${name} has no socket; it needs one for each function`;
    for (const path of sockets) {
      if (paths.has(path)) return `adapter ${name}: socket ${path} is named twice; sockets must differ`;
      paths.add(path);
    }
    if (sockets.length !== functions)
      return `adapter ${name} has ${sockets.length} sockets for ${describeFunctions(adapter)}; it needs one for each`;
  }
  return undefined;
}

/** A file cannot give a device of a personality another number of functions than these. */
function describeFunctions(node: AdapterNode): string {
  const { personality } = node;
  const counts = personality === undefined ? [functionCountOf(node)] : personalities[personality].functionCounts;
  return `${counts.join(' or ')} functions`;
}
