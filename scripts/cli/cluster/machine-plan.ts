// SPDX-License-Identifier: Apache-2.0
/**
 * The split of a cluster between machines. Each machine gets nodes in their order, then the
 * switches that have most links to what it has already. A link inside a machine stays as it is; one
 * between two machines becomes a trunk over TCP, where the machine with the lower number listens.
 * Each part is a cluster file of its own. Pure: a cluster in, plain data out. plan.ts calls it.
 */
import type { LinkPlan, Topology } from '../../../device/process/host/topology.ts';
import { type LocalLinkPlan, splitPort } from '../../../device/topology/fabric-plan.ts';
import type { JsonObject } from '../options/json-shape.ts';
import { UsageError } from '../options/usage-error.ts';
import type { ClusterShape } from './cluster-file.ts';
import type { NodeSpec } from './cluster-spec.ts';

/** What is asked for. */
export interface SplitChoice {
  readonly machines: number;
  readonly nodesPerMachine: number;
  /** The TCP port of the first trunk; the others follow. */
  readonly firstPort: number;
}

/** A link between two machines, which have numbers from 0. */
export interface Trunk {
  /** From 1. */
  readonly number: number;
  readonly tcpPort: number;
  readonly listens: TrunkEnd;
  readonly connects: TrunkEnd;
}

export interface TrunkEnd {
  readonly machine: number;
  readonly port: string;
}

export interface MachinePart {
  readonly nodes: readonly NodeSpec[];
  /** Adapters without a node. */
  readonly free: readonly string[];
  readonly switches: readonly string[];
  /** The content of its cluster file. */
  readonly file: JsonObject;
}

export interface MachinePlan {
  readonly parts: readonly MachinePart[];
  readonly trunks: readonly Trunk[];
}

const TCP_PORT_MAX = 65_535;

/** The file that has the key of a trunk, beside the cluster file. */
export function keyFileOf({ number }: Pick<Trunk, 'number'>): string {
  return `trunk${number}.key`;
}

/** The file of each machine that has the secret of the keys of all nodes. */
export const NODE_KEY_FILE = 'nodes.key';

/** The word of a part that stands for the address of a machine, which only its script knows. */
export function hostWord(machine: number): string {
  return `@MACHINE${machine + 1}@`;
}

/** Throws UsageError for a cluster that cannot be split so. */
export function splitCluster(shape: ClusterShape, topology: Topology, choice: SplitChoice): MachinePlan {
  checkNumbers(shape, choice);
  const homes = findHomes(shape, topology, choice);
  const homeOf = (port: string): number => homes.get(splitPort(port)[0]) as number;
  const links = topology.links.map(asLocal).filter((link) => !isImplied(topology, link));
  const between = links.filter(({ ports: [a, b] }) => homeOf(a) !== homeOf(b));
  const last = choice.firstPort + between.length - 1;
  if (last > TCP_PORT_MAX)
    throw new UsageError(`${between.length} trunks need ports up to ${last}; the last one is ${TCP_PORT_MAX}`);
  for (const link of between) checkTrunk(link);
  const trunks = between.map(({ ports }, index): Trunk => {
    const [listens, connects] = ports
      .map((port) => ({ machine: homeOf(port), port }))
      .sort((one, other) => one.machine - other.machine);
    return { number: index + 1, tcpPort: choice.firstPort + index, listens, connects };
  });
  const managers = findManagers(topology, links, homeOf);
  const parts = Array.from({ length: choice.machines }, (_, machine): MachinePart => {
    const isHere = (name: string): boolean => homes.get(name) === machine;
    const nodes = shape.nodes.filter(({ name }) => isHere(name));
    const free = shape.free.filter(isHere);
    const switches = topology.switches.filter(({ name }) => isHere(name));
    const inside = links.filter(({ ports: [a, b] }) => homeOf(a) === machine && homeOf(b) === machine);
    const file = {
      part: {
        ...{ first: nodes[0].number, others: listOthers(shape, nodes) },
        ...{ keys: NODE_KEY_FILE, managed: !shape.isUnmanaged },
      },
      nodes: Object.fromEntries(nodes.map((node) => [node.name, nodeMembers(node)])),
      adapters: adapterMembers(shape, topology, [...nodes.map(({ name }) => name), ...free]),
      switches: Object.fromEntries(switches.map(switchMembers)),
      links: [...inside.map(linkMembers), ...trunks.flatMap((trunk, index) => endOf(trunk, between[index], machine))],
      subnet: topology.subnet === 'managed' && !managers.has(machine) ? 'external' : topology.subnet,
      ...managerMember(shape),
    };
    return { nodes, free, switches: switches.map(({ name }) => name), file };
  });
  return { parts, trunks };
}

function checkNumbers({ nodes }: ClusterShape, { machines, nodesPerMachine }: SplitChoice): void {
  const needed = Math.ceil(nodes.length / nodesPerMachine);
  if (needed === machines) return;
  const what = `${nodes.length} nodes, ${nodesPerMachine} on each machine, need ${needed} machines`;
  throw new UsageError(`${what}, and --machines is ${machines}`);
}

/** The machine of each node of the fabric. */
function findHomes(shape: ClusterShape, topology: Topology, choice: SplitChoice): Map<string, number> {
  const homes = new Map<string, number>();
  const settle = (name: string, machine: number): void => {
    homes.set(name, machine);
    for (const one of topology.adapters) if (one.functionOf === name) homes.set(one.name, machine);
  };
  for (const [index, { name }] of shape.nodes.entries()) settle(name, Math.floor(index / choice.nodesPerMachine));
  const waiting = new Set([...topology.switches.map(({ name }) => name), ...shape.free]);
  const counts = Array.from({ length: choice.machines }, () => 0);
  while (waiting.size > 0) {
    // The one with most links to one machine is next, so that switches near nodes go first.
    let best = { name: '', machine: 0, links: -1, load: 0 };
    for (const name of waiting)
      for (const [machine, load] of counts.entries()) {
        const links = countLinks(topology, homes, name, machine);
        if (links > best.links || (links === best.links && name === best.name && load < best.load))
          best = { name, machine, links, load };
      }
    settle(best.name, best.machine);
    counts[best.machine]++;
    waiting.delete(best.name);
  }
  return homes;
}

/** Links between a node of the fabric and those of a machine. */
function countLinks({ links }: Topology, homes: ReadonlyMap<string, number>, name: string, machine: number): number {
  return links.filter((link) => {
    if (!('ports' in link)) return false;
    const [a, b] = link.ports.map((port) => splitPort(port)[0].replace(/\/1$/, ''));
    return (a === name && homes.get(b) === machine) || (b === name && homes.get(a) === machine);
  }).length;
}

function asLocal(link: LinkPlan): LocalLinkPlan {
  if ('ports' in link) return link;
  throw new UsageError(`the link of ${link.port} leads to another process; the plan makes such links itself`);
}

/** The link between the functions of a device, which nobody needs to name. */
function isImplied({ adapters }: Topology, { ports, link }: LocalLinkPlan): boolean {
  const [a, b] = ports.map((port) => splitPort(port)[0]);
  return link.kind === 'cable' && adapters.some(({ name, functionOf }) => functionOf === a && name === b);
}

/** A link to another process has neither a width nor a speed, and cannot go down by itself. */
function checkTrunk({ ports, link, width, speed }: LocalLinkPlan): void {
  const what = `the link between ${ports.join(' and ')} would be one between machines`;
  if (width !== undefined || speed !== undefined) throw new UsageError(`${what}, which can have no width and no speed`);
  if (link.kind === 'faulty' && ['flaps', 'flapEveryNs', 'flapLengthNs'].some((name) => name in link))
    throw new UsageError(`${what}, which can have no flaps`);
}

/** The machines of the first switch, or adapter, of each separate part of the fabric. */
function findManagers(
  { switches, adapters }: Topology,
  links: readonly LocalLinkPlan[],
  homeOf: (name: string) => number,
): Set<number> {
  const managers = new Set<number>();
  const seen = new Set<string>();
  for (const { name } of [...switches, ...adapters]) {
    if (seen.has(name)) continue;
    managers.add(homeOf(name));
    const reached = [name];
    for (let one = reached.pop(); one !== undefined; one = reached.pop()) {
      seen.add(one);
      for (const { ports } of links) {
        const ends = ports.map((port) => splitPort(port)[0]);
        if (ends.includes(one)) reached.push(...ends.filter((end) => !seen.has(end)));
      }
    }
  }
  return managers;
}

function listOthers({ nodes }: ClusterShape, here: readonly NodeSpec[]): JsonObject {
  return Object.fromEntries(nodes.filter((node) => !here.includes(node)).map(({ name, number }) => [name, number]));
}

function nodeMembers({ personality, cpus, tcgThread, memoryMiB, packages, disk }: NodeSpec): JsonObject {
  return {
    ...{ personality, cpus, tcgThread },
    ...(disk === undefined ? { packages } : { disk }),
    ...(memoryMiB === undefined ? {} : { memory: memoryMiB }),
  };
}

/** What the file says of adapters, with the GUIDs and LIDs that they have in the whole. */
function adapterMembers(shape: ClusterShape, topology: Topology, names: readonly string[]): JsonObject {
  const { adapters: given } = shape.topology as { readonly adapters: Readonly<Record<string, JsonObject>> };
  return Object.fromEntries(
    names.map((name) => {
      const node = topology.adapters.find((one) => one.name === name);
      const { nodeGuid, portLids } = node?.options ?? {};
      return [name, { ...given[name], nodeGuid, portLids }];
    }),
  );
}

function switchMembers({ name, ...members }: Topology['switches'][number]): readonly [string, JsonObject] {
  return [name, members];
}

function linkMembers({ ports, link, width, speed }: LocalLinkPlan): JsonObject {
  return {
    ports,
    ...(width === undefined ? {} : { width }),
    ...(speed === undefined ? {} : { speed }),
    ...propertiesOf(link),
  };
}

function propertiesOf({ kind: _, ...properties }: LocalLinkPlan['link']): JsonObject {
  return properties;
}

/** The end of a trunk that a machine has. */
function endOf(trunk: Trunk, { link }: LocalLinkPlan, machine: number): JsonObject[] {
  const { listens, connects, tcpPort } = trunk;
  const rest = { key: keyFileOf(trunk), ...propertiesOf(link) };
  if (listens.machine === machine) return [{ port: listens.port, listen: `tcp://0.0.0.0:${tcpPort}`, ...rest }];
  if (connects.machine !== machine) return [];
  return [{ port: connects.port, connect: `tcp://${hostWord(listens.machine)}:${tcpPort}`, ...rest }];
}

function managerMember({ topology }: ClusterShape): JsonObject {
  const { manager } = topology as { readonly manager?: unknown };
  return manager === undefined ? {} : { manager };
}
