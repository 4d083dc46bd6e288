// SPDX-License-Identifier: Apache-2.0
/**
 * A function of an mlx5 device: a front end beside `Adapter`, which an unmodified current driver of
 * another vendor binds (docs/verbs/PERSONALITIES.md). It has one port and the management agents of
 * every node. A device of two functions has two of these, which share nothing
 * (device/topology/device-functions.ts). Hosts and fabrics drive it as they drive `Adapter`.
 */
import { VENDOR_ID } from '../../../protocol/layout/gen/constants.gen.ts';
import { openDoors } from '../../hca/adapter/managed-nodes.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import type { Views } from '../shared/contents.ts';
import type { PersonalityOptions } from '../shared/options.ts';
import { PersonalityPort } from '../shared/personality-port.ts';
import { TransportUnits } from '../shared/transport-units.ts';
import { type DeviceKind, UndividedAdapter } from '../shared/undivided-adapter.ts';
import { CommandQueue } from './commands/command-queue.ts';
import { mlx5Views } from './contents.ts';
import { PORT_GIDS } from './hca/capabilities.ts';
import { Hca } from './hca/hca.ts';
import { announcePort } from './hca/port-events.ts';
import { UmrUnit } from './memory/umr.ts';
import { Mlx5Function } from './mlx5-function.ts';
import { QueuePairs } from './queue-pairs.ts';
import type { SendQueue } from './queues/send-queue.ts';
import { SendRequests } from './queues/send-requests.ts';

/** Of its node on the fabric; programs of infiniband-diags go by this number alone. */
const NODE_DEVICE_ID = 0x10f8;

const kind: DeviceKind = {
  name: 'mlx5',
  ownStages: 1,
  makePort: (...parameters) => new PersonalityPort(...parameters, 1, PORT_GIDS),
};

export class Mlx5Adapter extends UndividedAdapter<SendQueue> {
  readonly personality = 'mlx5';
  /** Not those of the vendor: programs ask its devices for attributes that only they have. */
  readonly vendorId = VENDOR_ID;
  readonly deviceId = NODE_DEVICE_ID;
  readonly revision = 0;
  readonly hca: Hca;
  readonly commands: CommandQueue;
  readonly functions: readonly [Mlx5Function];
  readonly units: TransportUnits<SendQueue>;
  /** QPs of the transport, by number, as reports and traces want them. */
  readonly tables: { readonly queuePairs: QueuePairs };
  readonly queuePairs: QueuePairs;
  /** Its rows for `vuhca show`. */
  readonly views: Views;

  constructor(options: PersonalityOptions, clock: AdapterClock, host: HostPort) {
    super(options, clock, host, kind);
    const { ports, mads, underlying } = this;
    this.hca = new Hca(underlying, ports, mads.agents, clock);
    this.commands = new CommandQueue(this.hca);
    this.units = new TransportUnits({
      clock,
      ports,
      loans: this.loans,
      mads,
      keys: this.hca.keys,
      queuePairs: { get: (qpn) => this.queuePairs.get(qpn) },
      groups: this.hca.groups,
      makeLoader: (addresses) => new SendRequests(addresses, underlying.dma),
    });
    this.queuePairs = new QueuePairs(this.hca, this.units);
    this.tables = { queuePairs: this.queuePairs };
    this.hca.unit = this.queuePairs;
    this.hca.keys.changes = new UmrUnit(this.hca.keys, this.queuePairs);
    openDoors([this], { receiver: this.engine.receiver.mads, special: this.units.special });
    this.queuePairs.onReady = (qp) => this.traces.onReady?.(qp);
    this.views = mlx5Views(this.hca);
    this.functions = [new Mlx5Function(underlying, this.hca, this.commands, this.queuePairs)];
    for (const port of ports) announcePort(port, this.hca.events);
    this.hca.onDescription = () => {
      for (const { number } of ports) mads.traps.raiseLocalChange(number, true);
    };
  }

  protected serveOwn(_stage: number, limit: number): number {
    return this.commands.serve(limit);
  }

  protected override settle(): void {
    super.settle();
    this.hca.moderation.run();
  }
}
