// SPDX-License-Identifier: Apache-2.0
/**
 * Builds a fabric from its plan: adapters, switches and links, as one `AdapterPort`. It is
 * deterministic, so a live process and a replay of its recording build the same. Called by
 * `AdapterProcess` and by `Replay`.
 */
import { Adapter } from '../adapter/adapter.ts';
import { joinPorts } from '../adapter/port-links.ts';
import { Fabric } from '../fabric/fabric.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import type { LinkEnd } from '../port/link.ts';
import { parseGuid } from '../port/port.ts';
import { installManager } from '../subnet-manager/install.ts';
import type { SubnetManagerOptions } from '../subnet-manager/options.ts';
import type { SubnetManager } from '../subnet-manager/subnet-manager.ts';
import { Switch } from '../switch/switch.ts';
import {
  type FabricPlan,
  type LocalLinkPlan,
  linkSpeeds,
  linkWidths,
  type SwitchNode,
  splitPort,
} from './fabric-plan.ts';

/** The nodes of a fabric, in the order of its plan. */
export interface BuiltFabric {
  readonly fabric: Fabric;
  readonly adapters: readonly Adapter[];
  readonly switches: readonly Switch[];
  /** The built-in subnet manager, if there is one. */
  readonly manager: SubnetManager | undefined;
}

/** `hosts` are those of all functions, in the order of the adapters. */
export function buildFabric(plan: FabricPlan, clock: AdapterClock, hosts: readonly HostPort[]): BuiltFabric {
  let first = 0;
  const linked = new Set(plan.links.flatMap(({ ports }) => ports.map((port) => splitPort(port)[0])));
  const adapters = plan.adapters.map(({ name, options }) => {
    const own = hosts.slice(first, first + options.functionCount);
    first += own.length;
    if (!linked.has(name)) return new Adapter(options, clock, own);
    // A port with a link leaves its neighbour alone.
    const adapter = new Adapter({ ...options, portLink: { kind: 'none' } }, clock, own);
    if (plan.subnet !== 'fixed') awaitManager(adapter);
    return adapter;
  });
  const switches = plan.switches.map((node) => makeSwitch(node, clock));
  const built = { adapters, switches };
  for (const link of plan.links) join(plan, built, link);
  const manager = plan.subnet === 'managed' ? startManager(findHome(built), clock, plan.manager) : undefined;
  return { ...built, manager, fabric: new Fabric([...adapters, ...switches]) };
}

/** The switch of the built-in subnet manager: the first one, or the first embedded one. */
function findHome({ adapters, switches }: Pick<BuiltFabric, 'adapters' | 'switches'>): Switch {
  const [home] = [...switches, ...adapters.flatMap(({ inner }) => inner)];
  if (home === undefined) throw new RangeError('there is no switch for the subnet manager');
  return home;
}

/** Starts the built-in subnet manager at port 0 of a switch, whose `run` runs it. */
function startManager(home: Switch, clock: AdapterClock, options: Partial<SubnetManagerOptions> = {}): SubnetManager {
  const manager = installManager(home.management, 0, clock, options);
  home.software = (budget) => manager.run(budget);
  return manager;
}

/** The port with this name. Throws RangeError when there is none. */
export function findPort(
  plan: Pick<FabricPlan, 'adapters' | 'switches'>,
  built: Pick<BuiltFabric, 'adapters' | 'switches'>,
  port: string,
): LinkEnd {
  const [name, number] = splitPort(port);
  const adapter = built.adapters[plan.adapters.findIndex((node) => node.name === name)];
  const relay = built.switches[plan.switches.findIndex((one) => one.name === name)];
  const end = (adapter?.uplinks ?? relay?.ports)?.[Number(number) - 1];
  if (end === undefined) throw new RangeError(`there is no port ${port}`);
  return end;
}

function makeSwitch({ name, ports, nodeGuid, virtualLanes, queuePackets }: SwitchNode, clock: AdapterClock): Switch {
  const guid = parseGuid(nodeGuid);
  const options = { ports, nodeGuid: guid, description: name, virtualLanes, queuePackets, selfActivating: false };
  return new Switch(options, clock);
}

function join(plan: FabricPlan, built: Pick<BuiltFabric, 'adapters' | 'switches'>, link: LocalLinkPlan): void {
  const ends = link.ports.map((port) => findPort(plan, built, port));
  for (const end of ends) setRate(end, link);
  joinPorts(ends[0], ends[1], link.link);
}

/** A subnet manager gives the ports of a linked adapter their LIDs and makes them active. */
function awaitManager({ ports }: Adapter): void {
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
