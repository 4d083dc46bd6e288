// SPDX-License-Identifier: Apache-2.0
/**
 * An mlx5 device: a front end that an unmodified current driver of another vendor binds. So far it
 * has what drivers ask before they make queues: initialising segment, command queue, pages,
 * capabilities, domains, keys, ports, event and completion queues. Hosts drive it as they drive
 * `Adapter`.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PCI_DEVICE_ID, VENDOR_OUI } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { type ManagedNode, nodeDescription } from '../../fabric/agents/managed-node.ts';
import { parseGuid, portGuid } from '../../fabric/port/port.ts';
import type { VectorNotes } from '../../hca/function/msix.ts';
import { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { AdapterClock, AdapterPort, HostPort } from '../../host.ts';
import { PersonalityPort } from '../shared/personality-port.ts';
import { CommandQueue } from './commands/command-queue.ts';
import { Hca } from './hca/hca.ts';
import { announcePort } from './hca/port-events.ts';
import { Mlx5Function } from './mlx5-function.ts';

/** Packets that a port holds until the link takes them. */
const PORT_QUEUE_PACKETS = 64;

export class Mlx5Adapter implements AdapterPort, ManagedNode, VectorNotes {
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid = parseGuid('0056554843416000');
  readonly systemImageGuid = this.nodeGuid;
  readonly description = nodeDescription('vuhca mlx5');
  readonly vendorId = VENDOR_OUI;
  readonly deviceId = PCI_DEVICE_ID;
  readonly revision = 0;
  readonly ports: readonly PersonalityPort[] = [
    new PersonalityPort(1, portGuid(this.nodeGuid, 1), 1, PORT_QUEUE_PACKETS),
  ];
  readonly endPorts = this.ports;
  readonly mads: MadInterface;
  readonly underlying: UnderlyingFunction;
  readonly hca: Hca;
  readonly commands: CommandQueue;
  readonly functions: readonly [Mlx5Function];
  #vectorsWait = false;

  constructor(clock: AdapterClock, host: HostPort) {
    this.underlying = new UnderlyingFunction(0, clock, host, this);
    this.mads = new MadInterface(this, clock);
    this.hca = new Hca(this.underlying, this.ports, this.mads.agents, clock);
    this.commands = new CommandQueue(this.hca);
    this.functions = [new Mlx5Function(this.underlying, this.hca, this.commands)];
    const { traps } = this.mads;
    for (const port of this.ports) {
      port.disable();
      port.onCapabilities = () => traps.raiseLocalChange(port.number);
      announcePort(port, this.hca.events);
    }
    this.hca.onDescription = () => {
      for (const { number } of this.ports) traps.raiseLocalChange(number, true);
    };
  }

  run(budget: number): boolean {
    const done = this.commands.serve(budget);
    this.hca.moderation.run();
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return done === budget;
  }

  /** A vector waits to be sent. */
  noteVector(): void {
    this.#vectorsWait = true;
  }
}
