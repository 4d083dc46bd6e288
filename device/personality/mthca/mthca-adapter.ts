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
import type { SendQueues } from '../shared/send-queues.ts';
import { TransportUnits } from '../shared/transport-units.ts';
import { CommandProcessor } from './commands/command-processor.ts';
import { mthcaViews } from './contents.ts';
import { DataPath } from './data-path.ts';
import { GroupMembers } from './group-members.ts';
import { Hca } from './hca/hca.ts';
import { MthcaPort } from './hca/mthca-port.ts';
import { MthcaFunction } from './mthca-function.ts';
import type { SendQueue } from './queues/send-queue.ts';
import { SendRequests } from './queues/send-requests.ts';
import { RawQueuePairs } from './raw-queue-pairs.ts';
import { RegionKeys } from './region-keys.ts';
import { UserAccess } from './user-access.ts';

/** Stages of a pass. */
const STAGES = 6;

export class MthcaAdapter implements FabricNode, ManagedNode, VectorNotes {
  readonly personality = 'mthca';
  readonly options: PersonalityOptions;
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
  readonly units: TransportUnits<SendQueue>;
  readonly data: DataPath;
  readonly links: PortLinks;
  /** QPs of the transport, by number, as reports and traces want them. */
  readonly tables: { readonly queuePairs: DataPath };
  readonly traces: Traces;
  /** Its rows for `vuhca show`. */
  readonly views: Views;
  readonly #turns = new PassTurns(STAGES, (stage, limit) => this.#serveStage(stage, limit));
  #vectorsWait = false;

  constructor(options: PersonalityOptions, clock: AdapterClock, host: HostPort) {
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
    const queuePairs = { get: (qpn: number) => this.data.get(qpn) };
    this.units = new TransportUnits({
      clock,
      ports: this.ports,
      keys: new RegionKeys(this.hca.regions),
      queuePairs,
      groups: new GroupMembers(this.hca.groups, queuePairs),
      makeLoader: (addresses) => new SendRequests(addresses),
    });
    for (const { index } of this.ports) this.engine.receiver.mads.interfaces[index] = this.raw;
    this.traces = new Traces(clock, 1);
    this.views = mthcaViews(this.hca);
    this.data = new DataPath(this.hca, this.units);
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
