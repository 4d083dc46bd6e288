// SPDX-License-Identifier: Apache-2.0
/**
 * Reads a topology file (docs/TOPOLOGY.md): JSON with every name and type checked, so that each
 * mistake gets a sentence. device/process/host/topology.ts checks how the values fit together.
 * Called by `vuhca device` and `vuhca topology`.
 */
import { dirname, resolve } from 'node:path';
import {
  type AdapterPlan,
  controlWithoutSwitch,
  findTopologyError,
  type LinkPlan,
  portNamesOf,
  portsOf,
  type Topology,
} from '../../../device/process/host/topology.ts';
import { joinFunctions } from '../../../device/topology/device-functions.ts';
import { defaultSwitchNode, type SubnetControl, type SwitchNode } from '../../../device/topology/fabric-plan.ts';
import { virtualLanesOf } from '../../../device/topology/node-kinds.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { type JsonObject, readObject } from '../options/json-shape.ts';
import { readNamedFile } from '../options/named-files.ts';
import { UsageError } from '../options/usage-error.ts';
import { readAdapter } from './topology-adapter.ts';
import { type Generated, readGenerator } from './topology-generator.ts';
import { assignPorts, readLink } from './topology-links.ts';
import { readManager } from './topology-manager.ts';

const rootMembers = { adapters: {}, switches: {}, links: [], generate: {}, subnet: '', manager: {} };
const controls: readonly SubnetControl[] = ['managed', 'external', 'fixed'];
/**
 * LIDs that an adapter takes at least, and GUIDs of a switch. Without values in the file, a node
 * has those that follow the node before.
 */
const LIDS_OF_ADAPTER = 2;
const GUIDS_OF_SWITCH = 0x40n;

/** The topology a file describes; paths in it are taken from its folder. Throws UsageError. */
export function readTopologyFile(path: string): Topology {
  try {
    return readTopologyValue(parseFile(path), dirname(resolve(path)));
  } catch (error) {
    if (error instanceof UsageError || error instanceof SetupError)
      throw new UsageError(`topology ${path}: ${error.message}`);
    throw error;
  }
}

/**
 * The topology that the content of a file describes. `folder` is that of the file. Throws
 * UsageError.
 */
export function readTopologyValue(value: unknown, folder: string): Topology {
  const topology = readTopology(readObject(value, 'the file', rootMembers), folder);
  const error = findTopologyError(topology);
  if (error !== undefined) throw new UsageError(error);
  return topology;
}

function readTopology(root: JsonObject, folder: string): Topology {
  const generated = root.generate === undefined ? undefined : readGenerator(root.generate);
  let lid = 1;
  const adapters = Object.entries(listAdapters(root, generated)).flatMap(([name, value], index) => {
    const nodes = readAdapter(name, value, { index, lid }, folder);
    lid += Math.max(LIDS_OF_ADAPTER, portNamesOf(nodes).length);
    return nodes;
  });
  const [first] = adapters;
  const virtualLanes = first === undefined ? defaultSwitchNode.virtualLanes : virtualLanesOf(first);
  const described = Object.entries((root.switches ?? {}) as JsonObject);
  const made = (generated?.switches ?? []).map(({ name, ports }) => [name, { ports }] as const);
  const switches = [...made, ...described].map(([name, value], index) => readSwitch(name, value, index, virtualLanes));
  const own = ((root.links ?? []) as unknown[]).map((value, index) => readLink(value, index, folder));
  const linked = assignPorts([...linksOf(generated, adapters), ...own], switches);
  const links = [...linked, ...joinFunctions(adapters, linked.flatMap(portsOf))];
  const subnet = (root.subnet ?? (switches.length > 0 ? 'managed' : controlWithoutSwitch(adapters))) as SubnetControl;
  if (!controls.includes(subnet)) throw new UsageError(`subnet is ${subnet}; it must be ${controls.join(', ')}`);
  const manager = root.manager === undefined ? {} : { manager: readManager(root.manager) };
  return { adapters, switches, links, subnet, ...manager };
}

/** The adapters of the file, or one for each place of a generated topology. */
function listAdapters({ adapters }: JsonObject, generated: Generated | undefined): JsonObject {
  if (generated === undefined) {
    if (adapters === undefined) throw new UsageError('adapters is missing; it names each adapter and its sockets');
    return adapters as JsonObject;
  }
  const { places } = generated;
  if (adapters === undefined)
    return Object.fromEntries(places.map((_, index) => [`a${index + 1}`, { sockets: [`a${index + 1}.sock`] }]));
  const count = Object.keys(adapters as JsonObject).length;
  if (count > places.length)
    throw new UsageError(`generate has places for ${places.length} adapters, and there are ${count}; make it larger`);
  return adapters as JsonObject;
}

/** Port 1 of each adapter of the file has the place of its order; then come the trunks. */
function linksOf(generated: Generated | undefined, adapters: readonly AdapterPlan[]): LinkPlan[] {
  if (generated === undefined) return [];
  const { places, trunks, link } = generated;
  const listed = adapters.filter(({ functionOf }) => functionOf === undefined);
  const downs = listed.map(({ name }, index) => [`${name}:1`, places[index]] as const);
  return [...downs, ...trunks].map((ports) => ({ ports, ...link }));
}

function readSwitch(name: string, value: unknown, index: number, virtualLanes: number): SwitchNode {
  const { ports, ...given } = readObject(value, `switch ${name}`, { ports: 0, ...defaultSwitchNode });
  if (ports === undefined) throw new UsageError(`switch ${name}: ports is missing; it is the number of its ports`);
  const guid = BigInt(`0x${defaultSwitchNode.nodeGuid}`) + GUIDS_OF_SWITCH * BigInt(index);
  const nodeGuid = guid.toString(16).padStart(16, '0');
  return {
    ...defaultSwitchNode,
    virtualLanes,
    nodeGuid,
    ...(given as Partial<SwitchNode>),
    name,
    ports: ports as number,
  };
}

/** The JSON of a file that a user names. Throws UsageError or SetupError. */
export function parseFile(path: string): unknown {
  const text = readNamedFile('it', path).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`it is no JSON: ${(error as Error).message}`);
  }
}
