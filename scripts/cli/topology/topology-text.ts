// SPDX-License-Identifier: Apache-2.0
/**
 * A topology as text: its nodes and its links, with ports and rates. `vuhca topology` prints it,
 * and its picture uses the words for rates.
 */

import { fabricOf, type LinkPlan, type Topology } from '../../../device/process/host/topology.ts';
import type { AdapterNode } from '../../../device/topology/fabric-plan.ts';
import { managerPlaces } from '../../../device/topology/manager-places.ts';
import { isEmbedding, portLidsOf, virtualLanesOf } from '../../../device/topology/node-kinds.ts';
import { nameEndpoint } from '../../../protocol/system/socket-address.ts';
import { table } from '../../console/table.ts';
import { gigabitsOf } from '../../picture/link-rate.ts';

/** Default width and speed of ports. */
const WIDTH = '4x';
const SPEED = 'QDR';
const BITS_PER_GIGABIT = 1e9;

export function describeTopology(topology: Topology): string {
  const { adapters, switches, links } = topology;
  const nodes = [
    ['node', 'kind', 'ports', 'node GUID', 'lanes'],
    ...switches.map(({ name, ports, nodeGuid, virtualLanes }) => [name, 'switch', ports, nodeGuid, virtualLanes]),
    ...adapters.map((node) => [
      node.name,
      kindOf(node),
      portLidsOf(node).length,
      node.options.nodeGuid,
      virtualLanesOf(node),
    ]),
  ];
  const joined = [
    ['link', 'to', 'rate', 'properties'],
    ...links.map((link) => {
      const [first, second] = endsOf(link);
      return [first, second, describeRate(link), describeProperties(link)];
    }),
  ];
  const parts = [table(nodes, [0, 1, 3]), ...(links.length === 0 ? [] : [table(joined, [0, 1, 2, 3])])];
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n\nThe subnet is ${describeControl(topology)}.\n`;
}

/** `1 switch`, `2 switches`. */
export function countOf(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** The source of LIDs: the end of a sentence about the subnet. */
export function describeControl(topology: Topology): string {
  if (topology.subnet === 'managed') return `managed by ${describeManagers(topology)}`;
  return topology.subnet === 'external'
    ? 'managed by a subnet manager from outside'
    : 'without a subnet manager: LIDs are fixed, and ports are active at once';
}

function kindOf(node: AdapterNode): string {
  if (node.personality !== undefined) return `adapter, ${node.personality}`;
  return isEmbedding(node) ? `adapter, ${node.options.functionCount} behind switches` : 'adapter';
}

/** Places of the built-in subnet managers; a switch has one at its port 0. */
function describeManagers(topology: Topology): string {
  const places = managerPlaces(fabricOf(topology)).map((place) => place.replace(/:0$/, ''));
  if (places.length === 0) return 'built-in subnet managers, and no port has a link';
  return `the built-in subnet manager${places.length > 1 ? 's' : ''} at ${places.join(', ')}`;
}

/** Both ends of a link: a port, or the address of another process. */
export function endsOf(link: LinkPlan): readonly [string, string] {
  if ('ports' in link) return link.ports;
  const { role, endpoint, port } = link;
  return [port, `${role} ${nameEndpoint(endpoint)}`];
}

/** `4x QDR, 40 Gb/s`; the rate of a link that is slower than that. */
export function describeRate(link: LinkPlan): string {
  if (!('ports' in link)) return '';
  const { width = WIDTH, speed = SPEED } = link;
  const bits = link.link.kind === 'faulty' ? link.link.bitsPerSecond : undefined;
  const gigabits = bits ? bits / BITS_PER_GIGABIT : gigabitsOf(width, speed);
  return `${width} ${speed}, ${Number(gigabits.toPrecision(4))} Gb/s`;
}

/** Faults and delay of a link. */
export function describeProperties(link: LinkPlan): string {
  if (!('ports' in link)) {
    const { key, link: { outgoing } = {} } = link;
    const words = outgoing === undefined ? [] : [`sends with ${listProperties(outgoing)}`];
    return [key === undefined ? 'socket' : 'encrypted socket', ...words].join(', ');
  }
  if (link.link.kind !== 'faulty') return 'cable';
  const { kind: _, bitsPerSecond: __, ...rest } = link.link;
  return listProperties(rest);
}

function listProperties({ seed, ...rest }: { readonly seed: number }): string {
  const words = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value).replaceAll('"', '')}`);
  return [`seed ${seed}`, ...words].join(', ');
}
