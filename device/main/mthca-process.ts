// SPDX-License-Identifier: Apache-2.0
/**
 * The live process of an mthca device: one socket for one guest, and the pump that runs the device
 * (docs/PERSONALITIES.md). `vuhca device --personality mthca` builds it, in the place of
 * `AdapterProcess`.
 */
import { type LogTarget, loadLibrary, type PassHook, Pump } from '../../protocol/vfio-user/index.ts';
import { Fabric } from '../fabric/fabric.ts';
import type { AdapterPort } from '../host.ts';
import { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import type { MthcaOptions } from '../personality/mthca/options.ts';
import { splitPort } from '../topology/fabric-plan.ts';
import { mthcaIdentity } from './pci-identity.ts';
import { SocketLink } from './socket-link.ts';
import type { SocketLinkPlan } from './topology.ts';
import { VfioUserHost } from './vfio-user-host.ts';
import { WallClock } from './wall-clock.ts';

/** Units of work in one pass: few enough that the next register access never waits long. */
const PASS_BUDGET = 256;

export interface MthcaProcessOptions {
  /** Path of libvfio-user. */
  readonly libraryPath: string;
  readonly socketPath: string;
  readonly device: MthcaOptions;
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
  readonly #links: readonly SocketLink[];

  /** Opens the socket; the client is served from `start`. Throws VfioUserError. */
  constructor({ libraryPath, socketPath, device, links = [], log }: MthcaProcessOptions) {
    const library = loadLibrary(libraryPath);
    this.host = new VfioUserHost({ library, socketPath, identity: mthcaIdentity(device.portCount), log });
    this.device = new MthcaAdapter(device, this.clock, this.host);
    const fabric = new Fabric([this.device]);
    this.#links = links.map((plan) => this.#plug(plan));
    this.host.connect(fabric.functions[0]);
    this.pump.add(this.host.context);
    this.pump.onPass(passHook(fabric, this.clock));
  }

  /** Serves the guest, and connects to peers. Rejects with LinkError when a link cannot listen. */
  async start(): Promise<void> {
    for (const link of this.#links) await link.start();
    this.pump.start();
  }

  /** Closes all sockets. May be called twice. */
  close(): void {
    for (const link of this.#links) link.close();
    this.pump.destroy();
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
