// SPDX-License-Identifier: Apache-2.0
/**
 * Fabrics of real switches and virtual adapters with subnet managers, for tests: cables or links
 * with faults, simulated time. Tests of `subnet-manager/` and of whole subnets use it.
 */

import { VirtualAdapter } from '../agents/virtual-adapter.ts';
import { Cable } from '../fabric/cable.ts';
import { Fabric, type FabricNode } from '../fabric/fabric.ts';
import { FaultyLink } from '../fabric/faulty-link.ts';
import type { FaultyLinkOptions } from '../fabric/link-options.ts';
import { SimulatedClock } from '../hosts/in-process/simulated-clock.ts';
import type { LinkEnd } from '../port/link.ts';
import { parseGuid } from '../port/port.ts';
import { Random } from '../random.ts';
import { installManager } from '../subnet-manager/install.ts';
import type { SubnetManagerOptions } from '../subnet-manager/options.ts';
import type { SubnetManager } from '../subnet-manager/subnet-manager.ts';
import { defaultSwitchOptions, Switch } from '../switch/switch.ts';

/** A place for a manager: switch `s0` and so on at its port 0, or adapter `a0` and so on. */
export interface ManagerPlan {
  readonly at: string;
  readonly options?: Partial<SubnetManagerOptions>;
}

export interface ManagedFabricPlan {
  /** External ports of each switch. */
  readonly switches: readonly number[];
  readonly adapters: number;
  /** Links between nodes, `s0`, `a3`, at their next free ports. */
  readonly links: readonly (readonly [string, string])[];
  readonly managers?: readonly ManagerPlan[];
  readonly faults?: Partial<FaultyLinkOptions>;
  /** Data VLs of all ports; 1 without. */
  readonly virtualLanes?: number;
  readonly seed?: number;
  /** Pairs of adapters with the same GUIDs. */
  readonly sameGuids?: readonly (readonly [number, number])[];
}

/** Switches have higher GUIDs than adapters: a manager on an adapter wins a tie. */
const SWITCH_GUIDS = 0x5655_5800_0000_0000n;
const ADAPTER_GUIDS = 0x5655_5400_0000_0000n;
const BUDGET = 64;

export class ManagedFabric {
  readonly clock = new SimulatedClock();
  readonly switches: Switch[];
  readonly adapters: VirtualAdapter[];
  readonly links: (Cable | FaultyLink)[] = [];
  readonly managers: SubnetManager[] = [];
  readonly #random: Random;
  readonly #faults: Partial<FaultyLinkOptions> | undefined;
  readonly #fabric: Fabric;
  /** Managers of adapters; those of switches are run by their switch. */
  readonly #software = new Map<VirtualAdapter, (budget: number) => boolean>();

  constructor(plan: ManagedFabricPlan) {
    const { virtualLanes = 1 } = plan;
    this.#random = new Random(plan.seed ?? 1);
    this.#faults = plan.faults;
    this.switches = plan.switches.map((ports, index) => {
      const nodeGuid = parseGuid((SWITCH_GUIDS + BigInt(index) * 64n).toString(16).padStart(16, '0'));
      const own = { ports, nodeGuid, virtualLanes, description: `switch ${index}` };
      return new Switch({ ...defaultSwitchOptions, ...own }, this.clock);
    });
    this.adapters = Array.from({ length: plan.adapters }, (_, index) => {
      const [number] = plan.sameGuids?.find(([, other]) => other === index) ?? [index];
      return new VirtualAdapter(`adapter ${index}`, ADAPTER_GUIDS + BigInt(number) * 16n, this.clock, virtualLanes);
    });
    this.#fabric = new Fabric([...this.switches, ...this.adapters.map((adapter) => this.#nodeOf(adapter))]);
    for (const [first, second] of plan.links) this.join(first, second);
    for (const { at, options } of plan.managers ?? [{ at: 's0' }]) this.addManager(at, options);
  }

  /** The node of a name. */
  node(name: string): Switch | VirtualAdapter {
    const number = Number(name.slice(1));
    return name.startsWith('s') ? this.switches[number] : this.adapters[number];
  }

  /** Joins two nodes at their next free ports. */
  join(first: string, second: string): Cable | FaultyLink {
    const [one, other] = [this.#freePort(first), this.#freePort(second)];
    const link =
      this.#faults === undefined
        ? new Cable(one, other)
        : new FaultyLink(one, other, this.#faults, this.#random.fork());
    this.links.push(link);
    return link;
  }

  /** Pulls a cable out of both ports. */
  unplug(link: Cable | FaultyLink): void {
    for (const port of this.linkedPorts) if (port.link === link) port.plug(undefined);
    this.links.splice(this.links.indexOf(link), 1);
  }

  addManager(at: string, options: Partial<SubnetManagerOptions> = {}): SubnetManager {
    const node = this.node(at);
    const portNumber = node instanceof Switch ? 0 : 1;
    const manager = installManager(node.management, portNumber, this.clock, options);
    const run = (budget: number) => manager.run(budget);
    if (node instanceof Switch) node.software = run;
    else this.#software.set(node, run);
    this.managers.push(manager);
    return manager;
  }

  /** Runs everything at the present time. */
  settle(): void {
    while (this.#fabric.run(BUDGET * (this.switches.length + this.adapters.length)));
  }

  /** Goes on until `isDone`, at most `limitNs` of simulated time. Returns whether it is. */
  runUntil(isDone: () => boolean, limitNs = 60e9): boolean {
    const end = this.clock.now() + limitNs;
    for (;;) {
      this.settle();
      if (isDone()) return true;
      if (this.clock.now() >= end || !this.clock.jumpToAlarm()) return false;
    }
  }

  /** External ports whose link is up. */
  get linkedPorts(): LinkEnd[] {
    return [...this.switches, ...this.adapters].flatMap(({ ports }) =>
      (ports as readonly LinkEnd[]).filter((port) => port.link !== undefined),
    );
  }

  get allActive(): boolean {
    return this.linkedPorts.every((port) => port.active);
  }

  /** An adapter with the software on it. */
  #nodeOf(adapter: VirtualAdapter): FabricNode {
    const run = (budget: number) => {
      const hasMore = this.#software.get(adapter)?.(budget) === true;
      return adapter.run(budget) || hasMore;
    };
    return { functions: [], ports: adapter.ports, run };
  }

  #freePort(name: string): LinkEnd {
    const { ports } = this.node(name);
    const port = (ports as readonly LinkEnd[]).find((each) => each.link === undefined);
    if (port === undefined) throw new Error(`node ${name} has no free port`);
    return port;
  }
}
