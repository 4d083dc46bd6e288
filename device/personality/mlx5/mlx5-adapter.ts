// SPDX-License-Identifier: Apache-2.0
/**
 * An mlx5 device: a front end beside `Adapter`, which an unmodified current driver of another
 * vendor binds (docs/verbs/PERSONALITIES.md). It has one function with one port, and the management
 * agents of every node. Hosts and fabrics drive it as they drive `Adapter`.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { VENDOR_ID } from '../../../protocol/layout/gen/constants.gen.ts';
import { PCI_DEVICE_ID } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { type ManagedNode, nodeDescription } from '../../fabric/agents/managed-node.ts';

import type { FabricNode } from '../../fabric/link/fabric.ts';
import type { Joint } from '../../fabric/link/joint.ts';
import { parseGuid, portGuid } from '../../fabric/port/port.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import { openDoors } from '../../hca/adapter/managed-nodes.ts';
import { PassTurns } from '../../hca/adapter/pass-turns.ts';
import { PortLinks } from '../../hca/adapter/port-links.ts';

import type { VectorNotes } from '../../hca/function/msix.ts';
import type { Timeline } from '../../hca/function/timeline.ts';
import { UnderlyingFunction } from '../../hca/function/underlying-function.ts';

import type { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';
import { observeLosses } from '../../hca/trace/loss-notes.ts';
import { Traces } from '../../hca/trace/traces.ts';
import type { TransportEngine } from '../../hca/transport/engine/engine.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import type { Views } from '../shared/contents.ts';
import type { PersonalityOptions } from '../shared/options.ts';
import { PersonalityPort } from '../shared/personality-port.ts';
import type { SendQueues } from '../shared/send-queues.ts';
import { TransportUnits } from '../shared/transport-units.ts';

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

/** Stages of a pass. */
const STAGES = 5;

export class Mlx5Adapter implements FabricNode, ManagedNode, VectorNotes {
  readonly personality = 'mlx5';
  readonly options: PersonalityOptions;
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  /** Not that of the vendor: programs ask its devices for attributes that only they have. */
  readonly vendorId = VENDOR_ID;
  readonly deviceId = PCI_DEVICE_ID;
  readonly revision = 0;
  readonly ports: readonly PersonalityPort[];
  readonly endPorts: readonly PersonalityPort[];
  /** Ends of the links that leave the device. */
  readonly uplinks: readonly PersonalityPort[];
  /** Links between ports of the device, and embedded switches: none. */
  readonly joints: readonly Joint[] = [];
  readonly inner: readonly Switch[] = [];
  readonly underlying: UnderlyingFunction;
  readonly hca: Hca;
  readonly commands: CommandQueue;
  readonly functions: readonly [Mlx5Function];
  readonly mads: MadInterface;
  readonly units: TransportUnits<SendQueue>;
  readonly links: PortLinks;
  /** QPs of the transport, by number, as reports and traces want them. */
  readonly tables: { readonly queuePairs: QueuePairs };
  readonly queuePairs: QueuePairs;
  readonly traces: Traces;
  /** Its rows for `vuhca show`. */
  readonly views: Views;
  readonly #turns = new PassTurns(STAGES, (stage, limit) => this.#serveStage(stage, limit));
  #vectorsWait = false;

  constructor(options: PersonalityOptions, clock: AdapterClock, host: HostPort) {
    const { portCount, portLids, portQueuePackets } = options;
    this.options = options;
    this.nodeGuid = parseGuid(options.nodeGuid);
    this.systemImageGuid = this.nodeGuid;
    this.description = nodeDescription(options.nodeDescription ?? 'vuhca mlx5');
    this.ports = Array.from(
      { length: portCount },
      (_, index) =>
        new PersonalityPort(
          index + 1,
          portGuid(this.nodeGuid, index + 1),
          portLids[index],
          portQueuePackets,
          1,
          PORT_GIDS,
        ),
    );
    this.endPorts = this.ports;
    this.uplinks = this.ports;
    this.underlying = new UnderlyingFunction(0, clock, host, this);
    if (options.orderCheck === true) this.underlying.checkOrder();
    this.mads = new MadInterface(this, clock);
    this.hca = new Hca(this.underlying, this.ports, this.mads.agents, clock);
    this.commands = new CommandQueue(this.hca);
    this.units = new TransportUnits({
      clock,
      ports: this.ports,
      keys: this.hca.keys,
      queuePairs: { get: (qpn) => this.queuePairs.get(qpn) },
      groups: this.hca.groups,
      makeLoader: (addresses) => new SendRequests(addresses, this.underlying.dma),
    });
    this.queuePairs = new QueuePairs(this.hca, this.units);
    this.tables = { queuePairs: this.queuePairs };
    this.hca.unit = this.queuePairs;
    this.hca.keys.changes = new UmrUnit(this.hca.keys, this.queuePairs);
    const { receiver } = this.engine;
    openDoors([this], { receiver: receiver.mads, special: this.units.special });
    this.traces = new Traces(clock, 1);
    this.queuePairs.onReady = (qp) => this.traces.onReady?.(qp);
    this.views = mlx5Views(this.hca);
    this.functions = [new Mlx5Function(this.underlying, this.hca, this.commands, this.queuePairs)];
    this.links = new PortLinks({ ports: this.ports, switches: [] }, receiver, [this.mads], clock);
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

  get lanes(): TransmitVirtualLanes {
    return this.units.lanes;
  }

  get sends(): SendQueues<SendQueue> {
    return this.units.sends;
  }

  get engine(): TransportEngine {
    return this.units.engine;
  }

  /** Lets each unit work in turn, and sends interrupts at the end. */
  run(budget: number): boolean {
    this.units.expire();
    const isSpent = this.#turns.run(budget);
    this.engine.settle();
    this.links.settle();
    this.hca.moderation.run();
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return isSpent;
  }

  noteVector(): void {
    this.#vectorsWait = true;
  }

  /** Gives the units a timeline for their steps; `undefined` ends it. */
  attachTimeline(timeline: Timeline | undefined): void {
    this.units.attachTimeline(timeline);
    observeLosses(this.ports, timeline);
    this.underlying.timeline = timeline;
  }

  #serveStage(stage: number, limit: number): number {
    switch (stage) {
      case 0:
        return this.commands.serve(limit);
      case 1:
        return this.sends.serve(limit);
      case 2:
        return this.engine.transmit(limit);
      case 3:
        return this.links.carry(limit);
      default:
        return this.links.receive(limit);
    }
  }
}
