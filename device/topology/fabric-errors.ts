// SPDX-License-Identifier: Apache-2.0
/**
 * Checks of the plan of a fabric (docs/TOPOLOGY.md): names, GUIDs, LIDs, ports and links must go
 * together. Each mistake has one sentence. device/process/host/topology.ts and replays call it.
 */

import { findLinkOptionError, findStreamOptionError } from '../fabric/link/link-options.ts';
import { parseGuid } from '../fabric/port/port.ts';
import { DATA_VL_COUNTS } from '../fabric/port/transmit-queues.ts';
import { defaultSubnetManagerOptions, findSubnetManagerError } from '../fabric/subnet-manager/options.ts';
import { SWITCH_PORTS_MAX, SWITCH_PORTS_MIN } from '../fabric/switch/switch.ts';
import { countFunctionGuids, embeddedSwitchGuid } from '../hca/adapter/embedded-guids.ts';
import { functionName } from './device-functions.ts';
import {
  type AdapterNode,
  type FabricPlan,
  type LocalLinkPlan,
  linkSpeeds,
  linkWidths,
  type SwitchNode,
  splitPort,
} from './fabric-plan.ts';
import { findNodeError, isEmbedding, portLidsOf, virtualLanesOf } from './node-kinds.ts';

const QUEUE_PACKETS_MAX = 1024;
const NAME = /^[\w.-]{1,32}$/;
const GUID = /^[0-9a-f]{16}$/i;

/** A node of either kind, as the checks of GUIDs and links see it. */
interface Node {
  readonly name: string;
  readonly what: string;
  readonly ports: number;
  readonly nodeGuid: string;
  /** GUIDs of the node and its ports. */
  readonly guids: number;
  readonly virtualLanes: number;
  readonly functionOf?: string | undefined;
}

/** One sentence about the first mistake, or undefined. */
export function findFabricError(plan: FabricPlan): string | undefined {
  const { adapters, switches } = plan;
  const nodes = [...adapters.map(describeAdapter), ...switches.map(describeSwitch)];
  return (
    findNameError(nodes) ??
    findAdapterError(adapters) ??
    findSwitchError(switches) ??
    findLidClash(adapters) ??
    findGuidClash([...nodes, ...adapters.flatMap(describeEmbedded)]) ??
    findLinkError(nodes, plan) ??
    findControlError(plan)
  );
}

function findControlError({ adapters, switches, subnet, manager }: FabricPlan): string | undefined {
  const embedding = adapters.find(isEmbedding);
  const hasSwitches = switches.length > 0 || embedding !== undefined;
  if (subnet === 'fixed' && embedding !== undefined)
    return `adapter ${embedding.name}: portModel vswitch needs a subnet manager; subnet cannot be fixed`;
  if (subnet === 'fixed' && hasSwitches) return 'a switch needs a subnet manager; subnet cannot be fixed';
  if (manager === undefined) return undefined;
  if (subnet !== 'managed') return `manager has options, and subnet is ${subnet}; it must be managed`;
  const error = findSubnetManagerError({ ...defaultSubnetManagerOptions, ...manager });
  return error === undefined ? undefined : `manager: ${error}`;
}

function describeAdapter(node: AdapterNode): Node {
  const { name, options, functionOf } = node;
  const ports = portLidsOf(node).length;
  const guids = isEmbedding(node) ? countFunctionGuids(node.options.functionCount) : 1 + ports;
  const { nodeGuid } = options;
  return { name, what: 'adapter', ports, nodeGuid, guids, virtualLanes: virtualLanesOf(node), functionOf };
}

function describeSwitch(node: SwitchNode): Node {
  return { what: 'switch', guids: 1 + node.ports, ...node };
}

/** The embedded switches of an adapter. */
function describeEmbedded(node: AdapterNode): Node[] {
  if (!isEmbedding(node)) return [];
  const { name, options } = node;
  const { functionCount, virtualLanes } = options;
  return [1, 2].map((port) => {
    const nodeGuid = Buffer.from(embeddedSwitchGuid(options.nodeGuid, port)).toString('hex');
    return describeSwitch({
      name: `${name}/s${port}`,
      ports: 1 + functionCount,
      nodeGuid,
      virtualLanes,
      queuePackets: 0,
    });
  });
}

function findNameError(nodes: readonly Node[]): string | undefined {
  const known = new Map<string, string>();
  for (const { name, what, functionOf } of nodes) {
    const isFunction = functionOf !== undefined && known.has(functionOf) && name === functionName(functionOf);
    if (!isFunction && !NAME.test(name))
      return `${what} name ${JSON.stringify(name)} must be 1 to 32 letters, digits, dots or dashes`;
    const other = known.get(name);
    if (other === what)
      return `two ${what === 'switch' ? 'switches' : 'adapters'} are called ${name}; names must differ`;
    if (other !== undefined) return `an ${other} and a ${what} are called ${name}; names must differ`;
    known.set(name, what);
  }
  return undefined;
}

function findAdapterError(adapters: readonly AdapterNode[]): string | undefined {
  for (const node of adapters) {
    const error = findNodeError(node);
    if (error !== undefined) return `adapter ${node.name}: ${error}`;
  }
  return undefined;
}

function findSwitchError(switches: readonly SwitchNode[]): string | undefined {
  for (const { name, ports, nodeGuid, virtualLanes, queuePackets } of switches) {
    const where = `switch ${name}`;
    if (!isWhole(ports, SWITCH_PORTS_MIN, SWITCH_PORTS_MAX))
      return `${where} has ${ports} ports; it must have ${SWITCH_PORTS_MIN} to ${SWITCH_PORTS_MAX}`;
    if (!GUID.test(nodeGuid)) return `${where}: nodeGuid is ${nodeGuid}; it must be 16 hexadecimal digits`;
    if (!DATA_VL_COUNTS.includes(virtualLanes))
      return `${where}: virtualLanes is ${virtualLanes}; it must be ${DATA_VL_COUNTS.join(', ')}`;
    if (!isWhole(queuePackets, 1, QUEUE_PACKETS_MAX))
      return `${where}: queuePackets is ${queuePackets}; it must be 1 to ${QUEUE_PACKETS_MAX}`;
  }
  return undefined;
}

function isWhole(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}

/** One sentence about the first LID that two adapters share. */
function findLidClash(adapters: readonly AdapterNode[]): string | undefined {
  const owners = new Map<number, string>();
  for (const node of adapters) {
    const { name } = node;
    for (const lid of portLidsOf(node)) {
      const owner = owners.get(lid);
      if (owner !== undefined && owner !== name)
        return `adapters ${owner} and ${name} both have LID ${lid}; portLids of two adapters must differ`;
      owners.set(lid, name);
    }
  }
  return undefined;
}

/** One sentence about two nodes whose GUIDs, those of their ports included, overlap. */
function findGuidClash(nodes: readonly Node[]): string | undefined {
  const sorted = nodes
    .map((node) => ({ ...node, guid: new DataView(parseGuid(node.nodeGuid).buffer).getBigUint64(0) }))
    .sort((a, b) => (a.guid < b.guid ? -1 : a.guid > b.guid ? 1 : 0));
  for (const [index, second] of sorted.entries()) {
    const first = sorted[index - 1];
    if (first === undefined || second.guid - first.guid >= BigInt(first.guids)) continue;
    const apart = first.guids;
    const who =
      first.what === second.what
        ? `${first.what === 'switch' ? 'switches' : 'adapters'} ${first.name} and ${second.name}`
        : `${first.what} ${first.name} and ${second.what} ${second.name}`;
    return `${who} have nodeGuid ${first.nodeGuid} and ${second.nodeGuid}; they must be at least ${apart} apart, port GUIDs follow them`;
  }
  return undefined;
}

function findLinkError(nodes: readonly Node[], { links, streams = [] }: FabricPlan): string | undefined {
  const taken = new Set<string>();
  for (const one of [...links, ...streams]) {
    const ports = 'ports' in one ? one.ports : [one.port];
    const name = `link ${ports.join(' - ')}`;
    for (const port of ports) {
      const error = findPortError(nodes, port);
      if (error !== undefined) return `${name}: ${error}`;
      if (taken.has(port)) return `${name}: port ${port} has a link already; a port has one`;
      taken.add(port);
    }
    const error = 'ports' in one ? findLocalLinkError(nodes, one) : findStreamOptionError(one.link);
    if (error !== undefined) return `${name}: ${error}`;
  }
  return undefined;
}

function findPortError(nodes: readonly Node[], port: string): string | undefined {
  const [name, number] = splitPort(port);
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return describeMissing(nodes, name);
  if (/^[1-9]\d?$/.test(number) && Number(number) <= node.ports) return undefined;
  const ends = node.ports === 1 ? ':1' : node.ports === 2 ? ':1 or :2' : `:1 to :${node.ports}`;
  const other = nodes.find(({ functionOf }) => functionOf === name);
  const hint = other === undefined ? '' : `; the port of its function 1 is ${other.name}:1`;
  return node.what === 'adapter'
    ? `port ${port} must end in ${ends}${hint}`
    : `port ${port} does not exist; switch ${name} has ports ${name}:1 to ${name}:${node.ports}`;
}

function describeMissing(nodes: readonly Node[], name: string): string {
  const known = (what: string): string =>
    nodes
      .filter((node) => node.what === what)
      .map((node) => node.name)
      .join(', ');
  const switches = known('switch');
  return switches === ''
    ? `there is no adapter ${name}; the adapters are ${known('adapter')}`
    : `there is no node ${name}; the adapters are ${known('adapter')}, the switches ${switches}`;
}

function findLocalLinkError(nodes: readonly Node[], { ports, link, width, speed }: LocalLinkPlan): string | undefined {
  const error = link.kind === 'faulty' ? findLinkOptionError(link) : undefined;
  if (error !== undefined) return error;
  if (width !== undefined && !Object.hasOwn(linkWidths, width))
    return `width is ${width}; it must be ${Object.keys(linkWidths).join(', ')}`;
  if (speed !== undefined && !Object.hasOwn(linkSpeeds, speed))
    return `speed is ${speed}; it must be ${Object.keys(linkSpeeds).join(', ')}`;
  const [here, there] = ports.map((port) => nodes.find(({ name }) => name === splitPort(port)[0])?.virtualLanes);
  return here === there ? undefined : `it joins ports of ${here} and ${there} virtualLanes; both must have the same`;
}
