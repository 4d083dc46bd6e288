// SPDX-License-Identifier: Apache-2.0
/**
 * An mthca device: a second front end beside `Adapter`, which an unmodified driver of another
 * vendor binds (docs/verbs/PERSONALITIES.md). It has one function, one or two ports, and the
 * management agents of every node. Hosts and fabrics drive it as they drive `Adapter`.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  PCI_DEVICE_ID_ONE_PORT,
  PCI_DEVICE_ID_TWO_PORTS,
  PCI_REVISION,
  VENDOR_OUI,
} from '../../../protocol/mthca/gen/constants.gen.ts';
import { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { type ManagedNode, nodeDescription } from '../../fabric/agents/managed-node.ts';
import type { FabricNode } from '../../fabric/link/fabric.ts';
import { type Joint, joinPorts } from '../../fabric/link/joint.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { parseGuid, portGuid } from '../../fabric/port/port.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import { raisePortTraps } from '../../hca/adapter/managed-nodes.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { PortLinks } from '../../hca/adapter/port-links.ts';
import { PcbAllocator } from '../../hca/collect/pcb-allocator.ts';
import { DmaTiming } from '../../hca/function/dma-timing.ts';
import type { VectorNotes } from '../../hca/function/msix.ts';
import type { Timeline } from '../../hca/function/timeline.ts';
import { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';
import { SpecialQueuePairs } from '../../hca/queues/special-queue-pairs.ts';
import { observeLosses } from '../../hca/trace/loss-notes.ts';
import { Traces } from '../../hca/trace/traces.ts';
import { TransportEngine } from '../../hca/transport/engine/engine.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import { CommandProcessor } from './commands/command-processor.ts';
import { DataPath } from './data-path.ts';
import { GroupMembers } from './group-members.ts';
import { Hca } from './hca/hca.ts';
import { MthcaPort } from './hca/mthca-port.ts';
import { MthcaFunction } from './mthca-function.ts';
import type { MthcaOptions } from './options.ts';
import { AddressVectors } from './queues/address-vectors.ts';
import { SendQueues } from './queues/send-queues.ts';
import { SendRequests } from './queues/send-requests.ts';
import { RawQueuePairs } from './raw-queue-pairs.ts';
import { ReceiveFlusher } from './receive-flusher.ts';
import { RegionKeys } from './region-keys.ts';
import { UserAccess } from './user-access.ts';

/** Collect buffers of the send queues. */
const SEND_BUFFERS = 64;
/** Stages of a pass. */
const STAGES = 6;

export class MthcaAdapter implements FabricNode, ManagedNode, VectorNotes {
  readonly options: MthcaOptions;
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  readonly vendorId = VENDOR_OUI;
  readonly deviceId: number;
  readonly revision = PCI_REVISION;
  readonly ports: readonly MthcaPort[];
  readonly endPorts: readonly MthcaPort[];
  /** Ends of the links that leave the device. */
  readonly uplinks: readonly MthcaPort[];
  /** The link between the two ports, if there is one. */
  readonly joints: readonly Joint[];
  /** Embedded switches: none. */
  readonly inner: readonly Switch[] = [];
  readonly underlying: UnderlyingFunction;
  readonly hca: Hca;
  readonly processor: CommandProcessor;
  readonly functions: readonly [MthcaFunction];
  readonly mads: MadInterface;
  readonly raw: RawQueuePairs;
  readonly lanes: TransmitVirtualLanes;
  readonly sends: SendQueues;
  readonly engine: TransportEngine;
  readonly data: DataPath;
  readonly links: PortLinks;
  /** QPs of the transport, by number, as reports and traces want them. */
  readonly tables: { readonly queuePairs: DataPath };
  readonly traces: Traces;
  readonly #flusher: ReceiveFlusher;
  #vectorsWait = false;
  /** The stage that has the next turn in `run`. */
  #stage = 0;

  constructor(options: MthcaOptions, clock: AdapterClock, host: HostPort) {
    const { portCount, portQueuePackets, portLids } = options;
    this.options = options;
    this.nodeGuid = parseGuid(options.nodeGuid);
    this.systemImageGuid = this.nodeGuid;
    this.deviceId = portCount === 1 ? PCI_DEVICE_ID_ONE_PORT : PCI_DEVICE_ID_TWO_PORTS;
    this.description = nodeDescription(options.nodeDescription ?? 'vuhca mthca');
    this.ports = Array.from(
      { length: portCount },
      (_, index) => new MthcaPort(index + 1, portGuid(this.nodeGuid, index + 1), portLids[index], portQueuePackets),
    );
    this.endPorts = this.ports;
    this.uplinks = this.ports;
    this.underlying = new UnderlyingFunction(0, clock, host, this);
    if (options.orderCheck === true) this.underlying.checkOrder();
    this.mads = new MadInterface(this, clock);
    this.hca = new Hca(this.underlying, this.ports, this.mads.agents);
    this.processor = new CommandProcessor(this.hca);
    this.raw = new RawQueuePairs(this.hca, this.mads);
    const buffers = new PcbAllocator(SEND_BUFFERS, 1);
    const addresses = new AddressVectors(SEND_BUFFERS);
    const { laneCount, executionCredits, completionCredits } = defaultAdapterOptions;
    const credits = { executionCredits, completionCredits, listSize: SEND_BUFFERS };
    this.lanes = new TransmitVirtualLanes({ laneCount, functionCount: 1, ports: this.ports, ...credits });
    this.sends = new SendQueues(buffers, this.lanes, new SendRequests(addresses));
    const queuePairs = { get: (qpn: number) => this.data.get(qpn) };
    this.engine = new TransportEngine({
      clock,
      ports: this.ports,
      portsOfFunction: portCount,
      lanes: this.lanes,
      timing: new DmaTiming(clock, {}),
      functionCount: 1,
      keys: new RegionKeys(this.hca.regions),
      addresses,
      sends: this.sends,
      queuePairs,
      groups: new GroupMembers(this.hca.groups, queuePairs),
      special: new SpecialQueuePairs(),
      removed: () => {},
    });
    for (const { index } of this.ports) this.engine.receiver.mads.interfaces[index] = this.raw;
    this.#flusher = new ReceiveFlusher(this.engine.life, clock);
    this.traces = new Traces(clock, 1);
    this.data = new DataPath(this.hca, this.engine, this.sends, this.#flusher);
    this.data.onReady = (qp) => this.traces.onReady?.(qp);
    this.tables = { queuePairs: this.data };
    this.hca.rawUnit = this.raw;
    this.hca.dataUnit = this.data;
    const userAccess = new UserAccess(this.hca, this.raw, this.data);
    this.functions = [new MthcaFunction(this.underlying, this.hca, this.processor, userAccess)];
    this.links = new PortLinks({ ports: this.ports, switches: [] }, this.engine.receiver, [this.mads], clock);
    raisePortTraps(this.ports, this.mads);
    for (const port of this.ports) {
      port.disable();
      port.onCapabilities = () => this.mads.traps.raiseLocalChange(port.number);
      port.onStateChange = (changed, previous) => this.#portChanged(changed, previous);
    }
    const joint = portCount > 1 ? joinPorts(this.ports[0], this.ports[1], options.portLink) : undefined;
    this.joints = joint === undefined ? [] : [joint];
  }

  /** Lets each unit work in turn, and sends interrupts at the end. */
  run(budget: number): boolean {
    let left = budget;
    this.engine.expire();
    this.#flusher.run();
    let idle = 0;
    while (idle < STAGES && left > 0) {
      const done = this.#serveStage(left);
      this.#stage = (this.#stage + 1) % STAGES;
      left -= done;
      idle = done > 0 ? 0 : idle + 1;
    }
    this.engine.settle();
    this.links.settle();
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return left <= 0;
  }

  noteVector(): void {
    this.#vectorsWait = true;
  }

  /** Gives the units a timeline for their steps; `undefined` ends it. */
  attachTimeline(timeline: Timeline | undefined): void {
    this.lanes.timeline = timeline;
    observeLosses(this.ports, timeline);
    this.underlying.timeline = timeline;
  }

  /** Serves one stage of a pass; the next pass goes on where the budget ended. */
  #serveStage(limit: number): number {
    switch (this.#stage) {
      case 0:
        return this.processor.serve() ? 1 : 0;
      case 1:
        return this.raw.run(limit);
      case 2:
        return this.sends.serve(limit);
      case 3:
        return this.engine.transmit(limit);
      case 4:
        return this.links.carry(limit);
      default:
        return this.links.receive(limit);
    }
  }

  /**
   * A port that is switched off has no events. Drivers close their ports when their kernel knows
   * the device no longer, and `ib_mthca` passes an event on even then
   * (docs/verbs/PERSONALITIES.md).
   */
  #portChanged({ number, active }: LinkEnd, previous: PortState): void {
    if (!this.ports[number - 1].isEnabled) return;
    if (active || previous === PortState.ACTIVE) this.hca.events.postPort(number, active);
  }
}
