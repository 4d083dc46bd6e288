// SPDX-License-Identifier: Apache-2.0
/**
 * The live process of an mthca device: one socket for one guest, the fabric around the device, and
 * the pump that runs both (docs/PERSONALITIES.md). `vuhca device --personality mthca` builds it, in
 * the place of `AdapterProcess`.
 */
import { type LogTarget, loadLibrary, type PassHook, Pump } from '../../protocol/vfio-user/index.ts';
import { Cable } from '../fabric/cable.ts';
import { Fabric } from '../fabric/fabric.ts';
import type { AdapterPort } from '../host.ts';
import { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import type { MthcaOptions } from '../personality/mthca/options.ts';
import type { SubnetManager } from '../subnet-manager/subnet-manager.ts';
import { type BuiltFabric, buildFabric } from '../topology/build-fabric.ts';
import { defaultSwitchNode, splitPort } from '../topology/fabric-plan.ts';
import type { LoneFabric } from '../topology/lone-fabric.ts';
import type { ServedAdapter, ServedSwitch } from './adapter-process.ts';
import type { NamedNode } from './host-directory.ts';
import { HostDoor } from './host-door.ts';
import { mthcaIdentity } from './pci-identity.ts';
import { SocketLink } from './socket-link.ts';
import { LONE_NAME, LONE_SWITCH, type SocketLinkPlan } from './topology.ts';
import { VfioUserHost } from './vfio-user-host.ts';
import { WallClock } from './wall-clock.ts';

/** Units of work in one pass: few enough that the next register access never waits long. */
const PASS_BUDGET = 256;

export interface MthcaProcessOptions {
  /** Path of libvfio-user. */
  readonly libraryPath: string;
  readonly socketPath: string;
  readonly device: MthcaOptions;
  /** What the ports are plugged into. */
  readonly fabric: LoneFabric;
  /** UDP port of the host door; none when absent. */
  readonly doorPort?: number;
  /** Links to ports of other processes. */
  readonly links?: readonly SocketLinkPlan[];
  readonly log: LogTarget;
}

/** An mthca device that serves a guest until `close`. */
export class MthcaProcess {
  readonly device: MthcaAdapter;
  readonly host: VfioUserHost;
  readonly pump = new Pump();
  readonly clock = new WallClock(() => this.pump.nowNs());
  readonly socketLinks: readonly SocketLink[];
  readonly switches: readonly ServedSwitch[];
  /** The built-in subnet manager. */
  readonly managers: readonly SubnetManager[];
  /** It has none of our own; `AdapterProcess` has, and a control socket asks for both. */
  readonly adapters: readonly ServedAdapter[] = [];
  readonly recording = undefined;
  readonly door: HostDoor | undefined;

  /** Opens the socket; the client is served from `start`. Throws VfioUserError. */
  constructor(options: MthcaProcessOptions) {
    const { libraryPath, socketPath, device, links = [], log } = options;
    const library = loadLibrary(libraryPath);
    this.host = new VfioUserHost({ library, socketPath, identity: mthcaIdentity(device.portCount), log });
    const isCabled = options.fabric === 'cable';
    this.device = new MthcaAdapter(
      isCabled ? device : { ...device, portLink: { kind: 'none' } },
      this.clock,
      this.host,
    );
    const built = options.fabric === 'switch' ? this.#buildSwitch() : undefined;
    this.managers = built?.managers ?? [];
    this.switches = (built?.switches ?? []).map((core) => ({ name: LONE_SWITCH.name, core }));
    const fabric = new Fabric([this.device, ...this.switches.map(({ core }) => core)]);
    this.socketLinks = links.map((plan) => this.#plug(plan));
    this.host.connect(fabric.functions[0]);
    this.pump.add(this.host.context);
    this.pump.onPass(passHook(fabric, this.clock));
    const { doorPort: port } = options;
    if (port === undefined) return;
    const { nodes, managers, clock } = this;
    const wake = (): void => this.pump.wake();
    this.door = new HostDoor({ port, fabric, clock, nodes, managers, wake, log: (line) => log.warn({}, line) });
    this.pump.onPass(this.door.hook);
  }

  /** All nodes of the fabric; those that clients of the door have brought come last. */
  get nodes(): readonly NamedNode[] {
    const own = [{ name: LONE_NAME, core: this.device }, ...this.switches];
    return [...own.map(({ name, core }) => ({ name, management: core.management })), ...(this.door?.nodes ?? [])];
  }

  /** Serves the guest, and connects to peers. Rejects with LinkError when a link cannot listen. */
  async start(): Promise<void> {
    for (const link of this.socketLinks) await link.start();
    await this.door?.start();
    this.pump.start();
  }

  /** Closes all sockets. May be called twice. */
  close(): void {
    for (const link of this.socketLinks) link.close();
    this.door?.close();
    this.pump.destroy();
  }

  /** A switch with the built-in subnet manager, and the ports in it. */
  #buildSwitch(): BuiltFabric {
    const home = { ...defaultSwitchNode, ...LONE_SWITCH };
    const built = buildFabric({ adapters: [], switches: [home], links: [], subnet: 'managed' }, this.clock, []);
    for (const [index, port] of this.device.ports.entries()) {
      // The subnet manager gives the port its LID and makes it active.
      port.selfActivating = false;
      port.lid = 0;
      new Cable(port, built.switches[0].ports[index]);
    }
    return built;
  }

  #plug(plan: SocketLinkPlan): SocketLink {
    const port = this.device.ports[Number(splitPort(plan.port)[1]) - 1];
    // Its bytes come from the event loop, not from the run of another node.
    port.onWork = () => this.pump.wake();
    return new SocketLink(port, plan);
  }
}

function passHook(port: AdapterPort, clock: WallClock): PassHook {
  return {
    pass: () => {
      clock.takeDueAlarm();
      return port.run(PASS_BUDGET);
    },
    nextAlarmNs: () => clock.nextAlarmNs,
  };
}
