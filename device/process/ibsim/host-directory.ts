// SPDX-License-Identifier: Apache-2.0
/**
 * The hosts of the host door by name (docs/FABRIC.md). A port of this process has its name in the
 * topology: `a:1`, and a switch its own. Any other name is that of a virtual adapter, which is
 * plugged into a switch when its first client comes; it stays, as a machine does whose programs
 * end. A client without a name has a virtual adapter for itself, which leaves with it. Without a
 * switch it has the first port. `AdapterProcess` makes the directory.
 */

import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { isSwitch } from '../../fabric/agents/managed-node.ts';
import { VirtualAdapter } from '../../fabric/agents/virtual-adapter.ts';
import { Cable } from '../../fabric/link/cable.ts';
import type { Fabric } from '../../fabric/link/fabric.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import type { SubnetManager } from '../../fabric/subnet-manager/manager/subnet-manager.ts';
import type { AdapterClock } from '../../host.ts';
import type { NamedNode } from '../../topology/named-nodes.ts';
import { FabricHost } from './fabric-host.ts';
import type { HostDirectory, SoftwareHost } from './software-host.ts';

export interface FabricHostsOptions {
  readonly fabric: Fabric;
  readonly clock: AdapterClock;
  readonly nodes: readonly NamedNode[];
  /** The subnet managers of this process. */
  readonly managers: readonly SubnetManager[];
}

/** Node GUIDs of virtual adapters: `VUHO`, 16 bits of the name, 0. */
const GUID_BASE = 0x005655484f000000n;
const GUID_SHIFT = 8n;
const NAMES_MAX = 0x10000;

export class FabricHosts implements HostDirectory {
  readonly #options: FabricHostsOptions;
  readonly #hosts = new Map<string, FabricHost>();
  readonly #virtual = new Map<string, VirtualAdapter>();
  /** Names of virtual adapters that leave with their clients. */
  readonly #passing = new Set<string>();
  readonly #guids = new Set<bigint>();
  #count = 0;

  constructor(options: FabricHostsOptions) {
    this.#options = options;
  }

  /** A client that is a manager counts, too. */
  get hasManager(): boolean {
    return (
      this.#options.managers.some(({ isMaster }) => isMaster) ||
      [...this.#hosts.values()].some(({ isManager }) => isManager)
    );
  }

  /** The virtual adapters, in the order in which they came. */
  get virtualNodes(): readonly NamedNode[] {
    return [...this.#virtual].map(([name, { mads }]) => ({ name, mads }));
  }

  open(name: string): SoftwareHost | string {
    if (name === '') return this.#openAny();
    return this.#hosts.get(name) ?? this.#openPort(name) ?? this.#plugVirtual(name);
  }

  release(host: SoftwareHost): void {
    const adapter = this.#virtual.get(host.name);
    if (adapter === undefined || !this.#passing.delete(host.name)) return;
    this.#virtual.delete(host.name);
    this.#hosts.delete(host.name);
    this.#guids.delete(guidOf(adapter));
    adapter.port.plug(undefined);
    this.#options.fabric.remove(adapter);
  }

  #openAny(): SoftwareHost | string {
    const [first] = this.#options.nodes;
    if (this.#findFreePort() === undefined && first !== undefined) return this.open(`${first.name}:1`);
    const host = this.#plugVirtual(`client-${++this.#count}`);
    if (typeof host !== 'string') this.#passing.add(host.name);
    return host;
  }

  /** The host of a port of this process, or undefined when none has this name. */
  #openPort(name: string): FabricHost | undefined {
    for (const { name: nodeName, mads } of this.#options.nodes) {
      if (isSwitch(mads.node)) {
        if (name === nodeName) return this.#add(this.#hostOf(name, mads, 0));
        continue;
      }
      for (const { number } of mads.node.ports)
        if (name === `${nodeName}:${number}`) return this.#add(this.#hostOf(name, mads, number));
    }
    return undefined;
  }

  #plugVirtual(name: string): FabricHost | string {
    const free = this.#findFreePort();
    if (free === undefined) return `no switch has a free port; the ports are ${this.#listPorts()}`;
    const { fabric, clock } = this.#options;
    const lanes = free.transmitQueues.rings.length;
    const adapter = new VirtualAdapter(name, this.#chooseGuid(name), clock, lanes);
    fabric.add(adapter);
    new Cable(adapter.port, free);
    this.#virtual.set(name, adapter);
    return this.#add(this.#hostOf(name, adapter.mads, 1));
  }

  #hostOf(name: string, mads: MadInterface, portNumber: number): FabricHost {
    return new FabricHost(name, mads, portNumber, this.#options.managers);
  }

  #add(host: FabricHost): FabricHost {
    this.#hosts.set(host.name, host);
    return host;
  }

  #findFreePort(): LinkEnd | undefined {
    for (const { mads } of this.#options.nodes) {
      const { node } = mads;
      if (!isSwitch(node)) continue;
      const free = node.ports.find(({ link }) => link === undefined);
      if (free !== undefined) return free;
    }
    return undefined;
  }

  #listPorts(): string {
    return this.#options.nodes
      .flatMap(({ name, mads: { node } }) =>
        isSwitch(node) ? [name] : node.ports.map(({ number }) => `${name}:${number}`),
      )
      .join(', ');
  }

  /** The same name has the same GUID in each run: managers know it again. */
  #chooseGuid(name: string): bigint {
    let hash = hashOf(name);
    let guid = GUID_BASE + (BigInt(hash) << GUID_SHIFT);
    while (this.#guids.has(guid)) {
      hash = (hash + 1) % NAMES_MAX;
      guid = GUID_BASE + (BigInt(hash) << GUID_SHIFT);
    }
    this.#guids.add(guid);
    return guid;
  }
}

function guidOf({ nodeGuid }: VirtualAdapter): bigint {
  return new DataView(nodeGuid.buffer, nodeGuid.byteOffset).getBigUint64(0);
}

/** FNV-1a, folded to 16 bits. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return ((hash >>> 16) ^ hash) & 0xffff;
}
