// SPDX-License-Identifier: Apache-2.0
/**
 * A fabric inside this process, run by the event loop: switches of a generated topology, a virtual
 * adapter at each end, and the host door. It has no functions and needs no library.
 */
import { VirtualAdapter } from '../../device/fabric/agents/virtual-adapter.ts';
import { Cable } from '../../device/fabric/link/cable.ts';
import { Fabric } from '../../device/fabric/link/fabric.ts';
import type { LinkEnd } from '../../device/fabric/port/link.ts';
import { guidBytes } from '../../device/fabric/port/port.ts';
import { installManager } from '../../device/fabric/subnet-manager/manager/install.ts';
import type { SubnetManager } from '../../device/fabric/subnet-manager/manager/subnet-manager.ts';
import { defaultSwitchOptions, Switch } from '../../device/fabric/switch/switch.ts';
import { WallClock } from '../../device/process/host/wall-clock.ts';
import { HostDoor } from '../../device/process/ibsim/host-door.ts';
import { type FabricReport, reportFabric } from '../../device/process/reports/fabric-report.ts';
import type { NamedNode } from '../../device/topology/named-nodes.ts';
import { printable } from '../../protocol/system/printable.mjs';

/** Switches, trunks between their ports, and the ports that get an adapter: `NAME:NUMBER`. */
export interface FabricShape {
  readonly switches: readonly { readonly name: string; readonly ports: number }[];
  readonly trunks: readonly (readonly [string, string])[];
  readonly places: readonly string[];
  /** The switch with the built-in subnet manager; none when absent. */
  readonly manager?: string;
}

const SWITCH_GUID = 0x0056554853570000n;
const ADAPTER_GUID = 0x0056554843410000n;
/** Node GUIDs of switches lie so far apart that those of 36 ports fit between. */
const GUIDS_OF_NODE = 0x100n;
const BUDGET = 256;
const NS_PER_MS = 1e6;

export class LocalFabric {
  readonly door: HostDoor;
  readonly nodes: readonly NamedNode[];
  readonly fabric: Fabric;
  /** The built-in subnet manager, if there is one. */
  readonly manager: SubnetManager | undefined;
  readonly #clock = new WallClock(() => performance.now() * NS_PER_MS);
  #isQueued = false;
  #alarm: NodeJS.Timeout | undefined = undefined;
  #closed = false;

  constructor({ switches, trunks, places, manager }: FabricShape, doorPort: number) {
    const clock = this.#clock;
    const relays = switches.map(({ name, ports }, index) => {
      const nodeGuid = guidBytes(SWITCH_GUID + GUIDS_OF_NODE * BigInt(index));
      const node = new Switch({ ...defaultSwitchOptions, description: name, ports, nodeGuid }, clock);
      return { name, node };
    });
    const adapters = places.map((_, index) => {
      const name = `a${index + 1}`;
      return { name, node: new VirtualAdapter(name, ADAPTER_GUID + GUIDS_OF_NODE * BigInt(index), clock) };
    });
    this.nodes = [...relays, ...adapters].map(({ name, node }) => ({ name, mads: node.mads }));
    this.fabric = new Fabric([...relays, ...adapters].map(({ node }) => node));
    for (const [first, second] of trunks) new Cable(this.#findPort(first), this.#findPort(second));
    for (const [index, place] of places.entries()) new Cable(adapters[index].node.port, this.#findPort(place));
    const home = relays.find(({ name }) => name === manager)?.node;
    this.manager = home && installManager(home.mads, 0, clock);
    if (home !== undefined) home.software = (budget) => this.manager?.run(budget) === true;
    const managers = this.manager === undefined ? [] : [this.manager];
    const { fabric, nodes } = this;
    const wake = (): void => this.#wake();
    const log = (line: string): void => void process.stderr.write(`${printable(line)}\n`);
    this.door = new HostDoor({ fabric, clock, nodes, managers, port: doorPort, wake, log });
    this.#wake();
  }

  report(): FabricReport {
    return reportFabric([...this.nodes, ...this.door.nodes]);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#alarm);
    this.door.close();
  }

  #findPort(name: string): LinkEnd {
    const [node, number] = name.split(':');
    const port = this.nodes.find((one) => one.name === node)?.mads.node.ports[Number(number) - 1];
    if (port === undefined) throw new RangeError(`there is no port ${name}`);
    return port;
  }

  #wake(): void {
    if (this.#isQueued || this.#closed) return;
    this.#isQueued = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isQueued = false;
    if (this.#closed) return;
    this.#clock.takeDueAlarm();
    const hasMore = this.fabric.run(BUDGET);
    this.door.hook.pass();
    if (hasMore) return this.#wake();
    clearTimeout(this.#alarm);
    const waitMs = this.#clock.nextAlarmNs / NS_PER_MS - performance.now();
    if (Number.isFinite(waitMs)) this.#alarm = setTimeout(() => this.#wake(), Math.max(0, waitMs));
  }
}
