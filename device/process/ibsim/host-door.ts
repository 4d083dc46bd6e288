// SPDX-License-Identifier: Apache-2.0
/**
 * The host door of a live process (docs/FABRIC.md): the hosts that clients attach to, and the
 * server of ibsim's protocol. `AdapterProcess` makes one when it has a port for it.
 */
import type { PassHook } from '../../../protocol/vfio-user/index.ts';
import type { NamedNode } from '../../topology/named-nodes.ts';
import { FabricHosts, type FabricHostsOptions } from './host-directory.ts';
import { IbsimServer } from './ibsim-server.ts';

interface HostDoorOptions extends FabricHostsOptions {
  /** UDP port of control messages; 0: any that is free. */
  readonly port: number;
  /** Called when the fabric has work. */
  readonly wake: () => void;
  readonly log: (line: string) => void;
}

export class HostDoor {
  readonly server: IbsimServer;
  readonly #hosts: FabricHosts;

  constructor(options: HostDoorOptions) {
    this.#hosts = new FabricHosts(options);
    this.server = new IbsimServer({ ...options, hosts: this.#hosts });
  }

  /** Virtual adapters that clients have brought. */
  get nodes(): readonly NamedNode[] {
    return this.#hosts.virtualNodes;
  }

  /** Clients wait for states that a pass changes. */
  get hook(): PassHook {
    const pass = (): boolean => {
      this.server.settle();
      return false;
    };
    return { pass, nextAlarmNs: () => Number.POSITIVE_INFINITY };
  }

  /** Listens. Rejects with DoorError when the port is taken. */
  start(): Promise<void> {
    return this.server.start();
  }

  close(): void {
    this.server.close();
  }
}
