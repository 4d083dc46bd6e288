// SPDX-License-Identifier: Apache-2.0
/**
 * Builds a fabric from its plan: adapters, switches and links, as one `AdapterPort`. It is
 * deterministic, so a live process and a replay of its recording build the same. Called by
 * `AdapterProcess` and by `Replay`.
 */
import { Fabric, type FabricNode } from '../fabric/link/fabric.ts';
import { type ChangeableLink, findJoint, type Joint, joinPorts } from '../fabric/link/joint.ts';
import { StreamLink } from '../fabric/link/stream-link.ts';
import type { LinkEnd } from '../fabric/port/link.ts';
import { parseGuid } from '../fabric/port/port.ts';
import { installManager } from '../fabric/subnet-manager/manager/install.ts';
import type { SubnetManager } from '../fabric/subnet-manager/manager/subnet-manager.ts';
import { Switch } from '../fabric/switch/switch.ts';
import { observeSwitches } from '../fabric/switch/switch-losses.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import {
  type FabricPlan,
  type LocalLinkPlan,
  linkSpeeds,
  linkWidths,
  type SwitchNode,
  splitPort,
} from './fabric-plan.ts';
import { isAlone, managerPlaces } from './manager-places.ts';
import { type AnyAdapter, functionCountOf, makeAdapter } from './node-kinds.ts';

/** The nodes of a fabric, in the order of its plan. */
export interface BuiltFabric {
  readonly fabric: Fabric;
  readonly adapters: readonly AnyAdapter[];
  readonly switches: readonly Switch[];
  /** The links between ports of the process. */
  readonly joints: readonly Joint[];
  /** Those to other processes, in the order of the plan. */
  readonly streams: readonly StreamLink[];
  /** The built-in subnet managers, if the fabric has any. */
  readonly managers: readonly SubnetManager[];
}

/** `hosts` are those of all functions, in the order of the adapters. */
export function buildFabric(plan: FabricPlan, clock: AdapterClock, hosts: readonly HostPort[]): BuiltFabric {
  let first = 0;
  const joined: (Joint | undefined)[] = [];
  const adapters = plan.adapters.map((node) => {
    const own = hosts.slice(first, first + functionCountOf(node));
    first += own.length;
    const { portLink } = node.options;
    const isLone = isAlone({ links: plan.links }, node.name);
    if (isLone && plan.subnet === 'fixed') return makeAdapter(node, portLink, clock, own);
    // A port with a link leaves its neighbour alone.
    const adapter = makeAdapter(node, { kind: 'none' }, clock, own);
    if (plan.subnet !== 'fixed') awaitManager(adapter);
    const [one, other] = adapter.uplinks;
    if (isLone && other !== undefined) joined.push(joinPorts(one, other, portLink));
    return adapter;
  });
  const switches = plan.switches.map((node) => makeSwitch(node, clock));
  const built = { adapters, switches };
  observeSwitches([...switches, ...adapters.flatMap(({ inner }) => inner)], adapters);
  for (const link of plan.links) joined.push(join(plan, built, link));
  const streams = (plan.streams ?? []).map(({ port, link }) => new StreamLink(findFabricPort(plan, built, port), link));
  const joints = [...adapters.flatMap((adapter) => adapter.joints), ...joined]
    .filter((joint) => joint !== undefined)
    // A link to another process takes a port of an adapter from the cable to its neighbour.
    .filter(({ ends }) => !streams.some(({ port }) => ends.includes(port)));
  const nodes: FabricNode[] = [...adapters, ...switches];
  const places = plan.subnet === 'managed' ? managerPlaces(plan) : [];
  const managers = places.map((place) => startManager(plan, built, place, clock, nodes));
  const find = (name: string): ChangeableLink | undefined => {
    const end = lookUpPort(plan, built, name);
    return streams.find(({ port }) => port === end) ?? findJoint(joints, end);
  };
  return { ...built, joints, streams, managers, fabric: new Fabric(nodes, { streams, find }) };
}

/** Starts a subnet manager; a switch runs its own, and one at an adapter runs as a node. */
function startManager(
  plan: FabricPlan,
  { adapters, switches }: Pick<BuiltFabric, 'adapters' | 'switches'>,
  place: string,
  clock: AdapterClock,
  nodes: FabricNode[],
): SubnetManager {
  const [name, number] = splitPort(place);
  const [owner, embedded] = name.split('/s');
  const adapter = adapters[plan.adapters.findIndex((node) => node.name === owner)];
  const home = switches[plan.switches.findIndex((node) => node.name === name)] ?? adapter?.inner[Number(embedded) - 1];
  const { mads } = home ?? adapter;
  const manager = installManager(mads, Number(number), clock, plan.manager);
  const run = (budget: number): boolean => manager.run(budget);
  if (home === undefined) nodes.push({ functions: [], ports: [], run });
  else home.software = run;
  return manager;
}

/** The port with this name. Throws RangeError when there is none. */
export function findFabricPort(
  plan: Pick<FabricPlan, 'adapters' | 'switches'>,
  built: Pick<BuiltFabric, 'adapters' | 'switches'>,
  port: string,
): LinkEnd {
  const end = lookUpPort(plan, built, port);
  if (end === undefined) throw new RangeError(`there is no port ${port}`);
  return end;
}

function lookUpPort(
  plan: Pick<FabricPlan, 'adapters' | 'switches'>,
  built: Pick<BuiltFabric, 'adapters' | 'switches'>,
  port: string,
): LinkEnd | undefined {
  const [name, number] = splitPort(port);
  const adapter = built.adapters[plan.adapters.findIndex((node) => node.name === name)];
  const relay = built.switches[plan.switches.findIndex((one) => one.name === name)];
  return (adapter?.uplinks ?? relay?.ports)?.[Number(number) - 1];
}

function makeSwitch({ name, ports, nodeGuid, virtualLanes, queuePackets }: SwitchNode, clock: AdapterClock): Switch {
  const guid = parseGuid(nodeGuid);
  const options = { ports, nodeGuid: guid, description: name, virtualLanes, queuePackets, selfActivating: false };
  return new Switch(options, clock);
}

function join(
  plan: FabricPlan,
  built: Pick<BuiltFabric, 'adapters' | 'switches'>,
  link: LocalLinkPlan,
): Joint | undefined {
  const ends = link.ports.map((port) => findFabricPort(plan, built, port));
  for (const end of ends) setRate(end, link);
  return joinPorts(ends[0], ends[1], link.link);
}

/** A subnet manager gives the ports of an adapter their LIDs and makes them active. */
function awaitManager({ ports }: AnyAdapter): void {
  for (const port of ports) {
    port.selfActivating = false;
    port.lid = 0;
  }
}

function setRate({ settings }: LinkEnd, { width, speed }: LocalLinkPlan): void {
  if (width !== undefined) {
    settings.linkWidthEnabled = linkWidths[width];
    settings.linkWidthSupported |= linkWidths[width];
  }
  if (speed !== undefined) settings.linkSpeedEnabled = linkSpeeds[speed];
}
