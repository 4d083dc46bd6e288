// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter: its functions, and the units that all functions share (US 8,484,392 par. 29-33).
 * Hosts bring register and collect accesses to the functions, which only mark work. `run` gives
 * each unit its turn under a budget, and sends the interrupts of the pass at the end of the pass.
 * See docs/ARCHITECTURE.md, The seam.
 */
import {
  getCsrAdapterControlDisable,
  getCsrAdapterControlFreezeSends,
  getCsrAdapterControlLendIdle,
  getCsrAdapterControlReturnShares,
  getCsrAdapterControlSeparateInterrupts,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { EventType, PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { findJoint, type Joint } from '../../fabric/link/joint.ts';
import { makeLinkChange } from '../../fabric/link/link-changes.ts';
import { PortChange } from '../../fabric/port/end-port.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import { observeSwitches } from '../../fabric/switch/switch-losses.ts';
import type { AdapterClock, AdapterPort, HostPort } from '../../host.ts';
import { PcbAllocator } from '../collect/pcb-allocator.ts';
import { VcbSpace } from '../collect/vcb-space.ts';
import { DmaTiming } from '../function/dma-timing.ts';
import type { Timeline } from '../function/timeline.ts';
import { PHYSICAL_FUNCTION, UnderlyingFunction } from '../function/underlying-function.ts';
import { CONTENDED_TURN, PACKET_COST_BYTES } from '../lane/owner-turns.ts';
import { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { ChannelAdapter, ManagedAdapter } from '../management/managed-adapter.ts';
import { ManagementProcessor } from '../management/management-processor.ts';
import { SendContexts } from '../pio/send-contexts.ts';
import { EventModeration } from '../queues/event-moderation.ts';
import { capacities, ObjectTables } from '../queues/object-tables.ts';
import type { SharedRegisterParts } from '../registers/register-parts.ts';
import { CommandAdmission } from '../scheduler/command-admission.ts';
import { SendQueueScheduler } from '../scheduler/send-queue-scheduler.ts';
import { ShadowTails } from '../scheduler/shadow-tails.ts';
import { LaneTable } from '../shares/lane-table.ts';
import { ShareAdjuster } from '../shares/share-adjuster.ts';
import { ShareManager } from '../shares/share-manager.ts';
import type { SharePlan } from '../shares/share-plan.ts';
import { observeLosses } from '../trace/loss-notes.ts';
import { Traces } from '../trace/traces.ts';
import { AddressHandles } from '../transport/datagrams/address-handles.ts';
import { TransportEngine } from '../transport/engine/engine.ts';
import { AdapterUnits, giveDefaultShares, readPlan } from './adapter-units.ts';
import { createChannels } from './managed-nodes.ts';
import { type AdapterOptions, requireOptions, SEND_BLOCKS_DEFAULT } from './options.ts';
import { PassTurns } from './pass-turns.ts';
import { PcieFunction, type SharedAdapterParts } from './pcie-function.ts';
import { PendingWork } from './pending-work.ts';
import { PortLinks } from './port-links.ts';
import { createPortModel } from './port-model.ts';
import { shareUplinks } from './uplink-weights.ts';

/** Stages of a pass. */
const STAGES = 6;
/**
 * Of a longer rest of the budget, half is left to the receivers of the packets: payload that is on
 * loan when a host calls next is copied once more.
 */
const SHORT_REST = 64;
/**
 * Looks at tails in a run: one before its work, and further ones after it until one finds nothing.
 * Software that has received a message answers it at once. Interrupts and requests of hosts wait
 * meanwhile.
 */
const LOOKS_MAX = 8;

/** Asynchronous events by what a subnet manager changes at a port (IBTA 11.6.3.1). */
const eventOf: Readonly<Record<PortChange, EventType>> = {
  [PortChange.LID]: EventType.LID_CHANGE,
  [PortChange.SM]: EventType.SM_CHANGE,
  [PortChange.PKEY]: EventType.PKEY_CHANGE,
  [PortChange.GID]: EventType.GID_CHANGE,
  [PortChange.CLIENT_REREGISTER]: EventType.CLIENT_REREGISTER,
};

/** Builds an adapter with one function per host. Tests may build a faulty one. */
export type AdapterFactory = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => AdapterPort;

export class Adapter implements AdapterPort, ManagedAdapter, SharedRegisterParts {
  readonly options: AdapterOptions;
  readonly clock: AdapterClock;
  readonly functions: readonly PcieFunction[];
  readonly tables: ObjectTables;
  readonly moderation: EventModeration;
  readonly nodeGuid: Uint8Array;
  /** Ports of all functions. */
  readonly ports: readonly Port[];
  /** Ends of the links that leave the adapter. */
  readonly uplinks: readonly LinkEnd[];
  /** Links between two of these. */
  readonly joints: readonly Joint[];
  /** Embedded switches. */
  readonly inner: readonly Switch[];
  /** The VCB numbers of each function. */
  readonly vcbSpace: VcbSpace;
  /** PCBs for commands that arrive through VCBs. */
  readonly collectBuffers: PcbAllocator;
  /** Dedicated PCBs of the send queue scheduler. */
  readonly schedulerBuffers: PcbAllocator;
  readonly lanes: TransmitVirtualLanes;
  readonly pending = new PendingWork();
  readonly loans = this.pending.loans;
  /** Latency of reads of guest memory. */
  readonly dmaTiming: DmaTiming;
  readonly scheduler: SendQueueScheduler;
  readonly admission: CommandAdmission;
  readonly tails: ShadowTails;
  readonly engine: TransportEngine;
  /** Of the physical function. */
  readonly mads: MadInterface;
  readonly links: PortLinks;
  readonly sendContexts: SendContexts;
  readonly shareManager: ShareManager;
  readonly pollsPause: boolean;
  readonly shareAdjuster: ShareAdjuster;
  readonly laneTable: LaneTable;
  readonly traces: Traces;
  #control = 0;
  readonly #management: ManagementProcessor;
  #contextsFirst = false;
  readonly turns = new PassTurns(STAGES, (stage, limit) => this.#serveStage(stage, limit));

  /** `hosts`: one per function. Throws RangeError as `requireOptions` does. */
  constructor(options: AdapterOptions, clock: AdapterClock, hosts: readonly HostPort[]) {
    requireOptions(options, hosts.length);
    const { functionCount } = options;
    this.options = options;
    this.clock = clock;
    this.dmaTiming = new DmaTiming(clock, options);
    const model = createPortModel(options, clock);
    this.nodeGuid = model.channels[0].nodeGuid;
    ({ ports: this.ports, uplinks: this.uplinks, joints: this.joints, switches: this.inner } = model);
    this.tables = new ObjectTables(functionCount);
    this.moderation = new EventModeration(clock);
    this.vcbSpace = new VcbSpace(functionCount, options.vcbCount);
    this.collectBuffers = new PcbAllocator(options.pcbCount, functionCount);
    this.schedulerBuffers = new PcbAllocator(options.schedulerBufferCount, functionCount);
    this.lanes = new TransmitVirtualLanes({
      ...options,
      listSize: options.pcbCount + options.schedulerBufferCount,
      ports: this.ports,
    });
    this.scheduler = new SendQueueScheduler(this.schedulerBuffers, this.lanes, functionCount > 1, options.fetchQuantum);
    shareUplinks(this.inner, this.lanes.turns.groups);
    observeSwitches(this.inner, [this]);
    this.tails = new ShadowTails(clock, (qp, sequence) =>
      this.admission.ringFound(this.scheduler.unitOf(qp), qp, sequence),
    );
    this.scheduler.tails = this.tails;
    this.admission = new CommandAdmission(this.tables.queuePairs, this.lanes, this.tails);
    this.engine = new TransportEngine({
      clock,
      ports: this.ports,
      loans: this.loans,
      portsOfFunction: this.uplinks.length,
      lanes: this.lanes,
      timing: this.dmaTiming,
      functionCount,
      keys: this.tables.keys,
      addresses: new AddressHandles(),
      sends: this.scheduler,
      queuePairs: this.tables.queuePairs,
      groups: this.tables.multicastGroups,
      special: this.tables.specialQueuePairs,
      removed: (qp) => this.tables.removeQueuePair(qp),
    });
    const channels = createChannels(model, {
      clock,
      receiver: this.engine.receiver.mads,
      special: this.tables.specialQueuePairs,
    });
    this.mads = channels[0].mads;
    this.links = new PortLinks(
      model,
      this.engine.receiver,
      channels.map(({ mads }) => mads),
      clock,
    );
    this.sendContexts = new SendContexts({
      ports: this.ports,
      queuePairs: this.tables.queuePairs,
      functionCount,
      blockCount: options.sendBlockCount ?? SEND_BLOCKS_DEFAULT,
      turns: this.lanes.turns,
      packetCostBytes: PACKET_COST_BYTES,
      egressSeed: options.sendEgressSeed,
    });
    giveDefaultShares(this);
    this.functions = createFunctions(hosts, clock, channels, this);
    reportPortEvents(this.ports, this.functions);
    this.#management = new ManagementProcessor(this);
    this.pollsPause = options.pollsPause === true;
    this.shareManager = new ShareManager(new AdapterUnits(this), readPlan(this));
    this.laneTable = new LaneTable({
      physical: this.functions[PHYSICAL_FUNCTION].underlying,
      manager: this.shareManager,
      timing: this.dmaTiming,
      noteRead: (functionNumber) => this.lanes.map.noteRead(functionNumber),
    });
    this.lanes.map.onInvalid = (functionNumber) => this.laneTable.apply(functionNumber);
    this.traces = new Traces(clock, functionCount);
    this.shareAdjuster = new ShareAdjuster(this.shareManager, clock, options.idleIntervalNs);
  }

  /** ADAPTER_CONTROL, as the physical function last wrote it. */
  get control(): number {
    return this.#control;
  }

  set control(value: number) {
    this.#control = value;
    this.shareAdjuster.returnShares = getCsrAdapterControlReturnShares(value) === 1;
    this.shareAdjuster.lendIdle = getCsrAdapterControlLendIdle(value) === 1;
    this.sendContexts.setFrozen(getCsrAdapterControlFreezeSends(value) === 1);
    for (const { underlying } of this.functions)
      underlying.msix.separate = getCsrAdapterControlSeparateInterrupts(value) === 1;
  }

  get unallocatedCredits(): SharePlan {
    return this.shareManager.plan;
  }

  /** The physical function has disabled the adapter: commands wait; launched commands finish. */
  get disabled(): boolean {
    return getCsrAdapterControlDisable(this.control) === 1;
  }

  run(budget: number): boolean {
    this.engine.expire();
    this.shareAdjuster.run();
    if (this.dmaTiming.busReads > 0) this.scheduler.land(this.clock.now());
    if (this.laneTable.busy) this.laneTable.land();
    if (this.options.writeCombining !== undefined) for (const { combining } of this.functions) combining?.settle();
    if (this.tails.busy) this.tails.look();
    let left = this.turns.run(budget);
    for (let looks = 1; looks < LOOKS_MAX && left > 0 && this.tails.busy && this.tails.look(); looks++)
      left = this.turns.run(left);
    this.engine.settle();
    this.links.settle();
    this.#awaitReads();
    // After management, which may name another queue for them.
    if (this.tables.keys.pageFaults.unposted > 0) this.tables.keys.pageFaults.postWaiting();
    this.moderation.run();
    this.pending.flushVectors(this.functions);
    return (
      left <= 0 ||
      this.links.unsettled ||
      (this.options.writeCombining !== undefined && this.functions.some(({ isCombining }) => isCombining))
    );
  }

  get pollUntilNs(): number {
    return this.tails.pollUntilNs;
  }

  rest(): boolean {
    return this.tails.rest();
  }

  changeLink(words: Uint8Array): void {
    makeLinkChange(words, (port) => findJoint(this.joints, this.uplinks[Number(port.split(':').at(-1)) - 1]));
  }

  /** Gives the units a timeline for their steps; `undefined` ends it. */
  attachTimeline(timeline: Timeline | undefined): void {
    this.lanes.timeline = timeline;
    observeLosses(this.ports, timeline);
    for (const { underlying } of this.functions) underlying.timeline = timeline;
  }

  #serveStage(stage: number, limit: number): number {
    switch (stage) {
      case 0:
        return this.pending.manage(this.functions, this.#management);
      case 1:
        return this.disabled ? 0 : this.scheduler.serve(limit);
      case 2:
        return this.#serveSenders(limit > SHORT_REST ? (limit + 1) >>> 1 : limit);
      case 3:
        return this.disabled ? 0 : this.sendContexts.run(limit);
      case 4:
        return this.links.carry(limit);
      default:
        return this.links.receive(limit);
    }
  }

  /**
   * Send contexts that did not get their share go before the lanes, in every other pass: otherwise
   * they could always find the port full.
   */
  #serveSenders(limit: number): number {
    this.#contextsFirst = this.sendContexts.owed && !this.#contextsFirst && !this.disabled;
    const done = this.#contextsFirst ? this.sendContexts.run(limit) : 0;
    const left = limit - done;
    const turn = this.#isContended() ? Math.min(left, CONTENDED_TURN) : left;
    return done + this.engine.transmit(turn, this.disabled);
  }

  /** True when more than one function wants to send. */
  #isContended(): boolean {
    return this.lanes.contended || (this.functions.length > 1 && this.sendContexts.ready);
  }

  /** Asks for a pass when the next read completes. */
  #awaitReads(): void {
    const { stage } = this.engine.pipeline;
    if (!stage.busy && !this.laneTable.busy && this.dmaTiming.busReads === 0) return;
    const nextNs = Math.min(stage.nextNs, this.scheduler.nextNs, this.laneTable.nextNs);
    if (nextNs !== Number.POSITIVE_INFINITY) this.clock.setAlarm(nextNs);
  }
}

/** Makes the PCIe functions; `channels`: one for all functions, or one for each. */
function createFunctions(
  hosts: readonly HostPort[],
  clock: AdapterClock,
  channels: readonly ChannelAdapter[],
  adapter: SharedAdapterParts,
): readonly PcieFunction[] {
  const translationQuota = Math.floor(capacities.translationEntries / hosts.length);
  return hosts.map((host, number) => {
    const { pending, options } = adapter;
    const { deviceMemoryBytes, orderCheck } = options;
    const underlying = new UnderlyingFunction(number, clock, host, pending, deviceMemoryBytes, translationQuota);
    if (orderCheck === true) underlying.checkOrder();
    return new PcieFunction(underlying, channels[number % channels.length], adapter);
  });
}

/** Posts what changes at a port, by itself or by a subnet manager, to functions that use it. */
function reportPortEvents(ports: readonly Port[], functions: readonly PcieFunction[]): void {
  for (const port of ports) {
    const users = functions.filter(({ underlying }) => port.serves(underlying.number));
    const post = (type: EventType, portNumber: number): void => {
      for (const { underlying } of users) underlying.postPortEvent(type, portNumber);
    };
    port.onChange = (_port, change) => post(eventOf[change], port.number);
    port.onStateChange = (_end, previous) => {
      if (port.active) post(EventType.PORT_ACTIVE, port.number);
      else if (previous === PortState.ACTIVE) post(EventType.PORT_ERROR, port.number);
    };
  }
}
