// SPDX-License-Identifier: Apache-2.0
/**
 * The part of an adapter that devices of other vendors have in common: one function, ports with the
 * management agents of every node, and the passes of the transport. Hosts and fabrics drive it as
 * they drive `Adapter`.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { type ManagedNode, nodeDescription } from '../../fabric/agents/managed-node.ts';
import type { FabricNode } from '../../fabric/link/fabric.ts';
import { type Joint, joinPorts } from '../../fabric/link/joint.ts';
import { parseGuid, portGuid } from '../../fabric/port/port.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import { PassTurns } from '../../hca/adapter/pass-turns.ts';
import type { PortLinks } from '../../hca/adapter/port-links.ts';
import type { Timeline } from '../../hca/function/timeline.ts';
import { type FunctionNotes, UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';
import { observeLosses } from '../../hca/trace/loss-notes.ts';
import { Traces } from '../../hca/trace/traces.ts';
import type { TransportEngine } from '../../hca/transport/engine/engine.ts';
import type { AdapterClock, FunctionPort, HostPort } from '../../host.ts';
import { LoanBook } from '../../loan-book.ts';
import type { PersonalityOptions } from './options.ts';
import type { PersonalityPort } from './personality-port.ts';
import type { PostedSends, SendQueues } from './send-queues.ts';
import type { TransportUnits } from './transport-units.ts';

/** Stages of a pass that every personality has, behind its own. */
const TRANSPORT_STAGES = 4;

/** What a personality says of its devices. */
export interface DeviceKind {
  /** Its name, for the description of the node. */
  readonly name: string;
  /** Stages of a pass that `serveOwn` serves. */
  readonly ownStages: number;
  makePort(number: number, guid: Uint8Array, lid: number, queuePackets: number): PersonalityPort;
}

export abstract class UndividedAdapter<Queue extends PostedSends> implements FabricNode, ManagedNode, FunctionNotes {
  readonly options: PersonalityOptions;
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  abstract readonly vendorId: number;
  abstract readonly deviceId: number;
  abstract readonly revision: number;
  readonly ports: readonly PersonalityPort[];
  readonly endPorts: readonly PersonalityPort[];
  /** Ends of the links that leave the device. */
  readonly uplinks: readonly PersonalityPort[];
  /** The link between the two ports, if there is one. */
  readonly joints: readonly Joint[];
  /** Embedded switches: none. */
  readonly inner: readonly Switch[] = [];
  readonly underlying: UnderlyingFunction;
  abstract readonly functions: readonly [FunctionPort];
  readonly mads: MadInterface;
  readonly loans = new LoanBook();
  abstract readonly units: TransportUnits<Queue>;
  readonly traces: Traces;
  readonly #ownStages: number;
  readonly turns: PassTurns;
  #vectorsWait = false;

  constructor(options: PersonalityOptions, clock: AdapterClock, host: HostPort, kind: DeviceKind) {
    const { portCount, portLids, portQueuePackets } = options;
    this.options = options;
    this.nodeGuid = parseGuid(options.nodeGuid);
    this.systemImageGuid = parseGuid(options.systemImageGuid ?? options.nodeGuid);
    this.description = nodeDescription(options.nodeDescription ?? `vuhca ${kind.name}`);
    this.ports = Array.from({ length: portCount }, (_, index) =>
      kind.makePort(index + 1, portGuid(this.nodeGuid, index + 1), portLids[index], portQueuePackets),
    );
    this.endPorts = this.ports;
    this.uplinks = this.ports;
    this.underlying = new UnderlyingFunction(0, clock, host, this);
    if (options.orderCheck === true) this.underlying.checkOrder();
    this.mads = new MadInterface(this, clock);
    this.traces = new Traces(clock, 1);
    this.#ownStages = kind.ownStages;
    this.turns = new PassTurns(kind.ownStages + TRANSPORT_STAGES, (stage, limit) => this.#serveStage(stage, limit));
    for (const port of this.ports) {
      port.disable();
      port.onCapabilities = () => this.mads.traps.raiseLocalChange(port.number);
    }
    const joint = portCount > 1 ? joinPorts(this.ports[0], this.ports[1], options.portLink) : undefined;
    this.joints = joint === undefined ? [] : [joint];
  }

  get lanes(): TransmitVirtualLanes {
    return this.units.lanes;
  }

  get sends(): SendQueues<Queue> {
    return this.units.sends;
  }

  get engine(): TransportEngine {
    return this.units.engine;
  }

  get links(): PortLinks {
    return this.units.links;
  }

  /** Lets each unit work in turn, and sends interrupts at the end. */
  run(budget: number): boolean {
    this.units.expire();
    const isSpent = this.turns.run(budget) <= 0;
    this.settle();
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return isSpent;
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

  /** Serves a stage that only this personality has, as `ServeStage` does. */
  protected abstract serveOwn(stage: number, limit: number): number;

  /** Ends the work of a pass, before interrupts. */
  protected settle(): void {
    this.engine.settle();
    this.links.settle();
  }

  #serveStage(stage: number, limit: number): number {
    switch (stage - this.#ownStages) {
      case 0:
        return this.sends.serve(limit);
      case 1:
        return this.engine.transmit(limit);
      case 2:
        return this.links.carry(limit);
      case 3:
        return this.links.receive(limit);
      default:
        return this.serveOwn(stage, limit);
    }
  }
}
