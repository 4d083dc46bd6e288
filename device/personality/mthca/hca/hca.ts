// SPDX-License-Identifier: Apache-2.0
/**
 * State of the HCA behind the command register: firmware, context memory, objects, ports. Commands
 * read and change it; a reset returns it to power-on. `MthcaAdapter` owns it.
 */

import { ERROR_BUFFER_WORDS } from '../../../../protocol/mthca/gen/constants.gen.ts';
import type { DeviceLimits } from '../../../../protocol/mthca/gen/device-limits.gen.ts';
import { type EventKind, FatalKind, QpContextState } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { Agents } from '../../../fabric/agents/agents.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { Firmware } from '../../shared/firmware.ts';
import type { FaultyDevice } from '../../shared/injected-faults.ts';
import { ObjectEvents } from '../../shared/object-events.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import { PlantedFaults } from '../../shared/planted-faults.ts';
import { ContextMemory } from '../memory/context-memory.ts';
import { ContextTable } from '../memory/context-table.ts';
import { DoorbellRecords } from '../memory/doorbell-records.ts';
import { MemoryRegions } from '../memory/memory-regions.ts';
import type { MthcaCompletionQueue } from '../queues/completion-queue.ts';
import type { MthcaEventQueue } from '../queues/event-queue.ts';
import type { MthcaQueuePair } from '../queues/queue-pair.ts';
import type { MthcaSharedReceiveQueue } from '../queues/shared-receive-queue.ts';
import { Events } from './events.ts';
import { makeLimits } from './limits.ts';
import { MulticastTable } from './multicast-table.ts';
import { objectEvents } from './object-events.ts';

/** Parts that have been started; each includes those before it. */
export const HcaState = { RESET: 0, FIRMWARE: 1, RUNNING: 2 } as const;
export type HcaState = (typeof HcaState)[keyof typeof HcaState];

const fatalCauses: ReadonlyMap<string, FatalKind> = new Map([
  ['internal', FatalKind.INTERNAL],
  ['bus', FatalKind.BUS],
  ['memory', FatalKind.MEMORY],
  ['parity', FatalKind.PARITY],
]);

/** A unit that works for QPs, as commands see it. */
export interface QueuePairUnit {
  /** The QP has come into being, in INIT. */
  add(qp: MthcaQueuePair): void;
  /** A command moves the QP: its context is that of `next`. `notify`: of a drained send queue. */
  move(qp: MthcaQueuePair, next: QpContextState, notify: boolean): void;
  /** The QP is going away. */
  drop(qp: MthcaQueuePair): void;
  /** As `drop`, and nothing completes: the HCA stops. */
  discard(qp: MthcaQueuePair): void;
}

/** QP0 and QP1. */
const SPECIAL_QPS = 2;
const DWORD_BYTES = 4;

export class Hca implements FaultyDevice {
  readonly underlying: UnderlyingFunction;
  readonly ports: readonly PersonalityPort[];
  readonly agents: Agents;
  readonly limits: Readonly<DeviceLimits>;
  state: HcaState = HcaState.RESET;
  firmware: Firmware = Firmware.WORKS;
  /** Pages that software gave to the firmware and to its auxiliary tables. */
  firmwarePages = 0;
  auxiliaryPages = 0;
  readonly icm = new ContextMemory();
  readonly regions: MemoryRegions;
  /** Entries of CQs and of EQs that no longer exist, for reports. */
  readonly retired = { completions: 0, events: 0 };
  readonly eventQueues: ContextTable<MthcaEventQueue>;
  readonly completionQueues: ContextTable<MthcaCompletionQueue>;
  readonly sharedReceiveQueues: ContextTable<MthcaSharedReceiveQueue>;
  readonly queuePairs: ContextTable<MthcaQueuePair>;
  readonly groups = new MulticastTable();
  readonly events: Events;
  readonly objectEvents: ObjectEvents<EventKind>;
  readonly records: DoorbellRecords;
  readonly planted = new PlantedFaults();
  readonly fatalCauses = fatalCauses;
  readonly firmwares: readonly Firmware[] = [Firmware.WORKS, Firmware.REFUSES, Firmware.SILENT];
  /** The units that work for QPs of service MLX, and for all others. */
  rawUnit: QueuePairUnit | undefined = undefined;
  dataUnit: QueuePairUnit | undefined = undefined;
  /** First QPN of the QPs that act as QP0 and QP1 of the ports; 0: none. */
  readonly specialQpns = new Uint32Array(SPECIAL_QPS);
  /** The error buffer, as the register BAR shows it; zeros while the HCA is healthy. */
  readonly errorBuffer = new Uint8Array(ERROR_BUFFER_WORDS * DWORD_BYTES);

  constructor(underlying: UnderlyingFunction, ports: readonly PersonalityPort[], agents: Agents) {
    this.underlying = underlying;
    this.ports = ports;
    this.agents = agents;
    const limits = makeLimits(ports.length);
    this.limits = limits;
    const { icm } = this;
    this.regions = new MemoryRegions(icm, underlying, 2 ** limits.logReservedMpts);
    this.eventQueues = new ContextTable(icm, limits.eqcBytes, 2 ** limits.logReservedEqs);
    this.completionQueues = new ContextTable(icm, limits.cqcBytes, 2 ** limits.logReservedCqs);
    this.sharedReceiveQueues = new ContextTable(icm, limits.srqcBytes, 2 ** limits.logReservedSrqs);
    this.queuePairs = new ContextTable(icm, limits.qpcBytes, 2 ** limits.logReservedQps);
    this.events = new Events(this.eventQueues);
    this.objectEvents = new ObjectEvents(objectEvents, (kind, number) => this.events.postObject(kind, number));
    this.records = new DoorbellRecords(icm, underlying.dma);
  }

  /** True after a fatal error, until a reset. */
  get hasFailed(): boolean {
    return this.errorBuffer.some((byte) => byte !== 0);
  }

  /**
   * The objects that the device has for drivers and processes. Those that are left when all drivers
   * and processes are gone have leaked.
   */
  get objectCounts() {
    return {
      qps: this.queuePairs.count,
      cqs: this.completionQueues.count,
      srqs: this.sharedReceiveQueues.count,
      eqs: this.eventQueues.count,
      mrs: this.regions.table.count,
      groups: this.groups.count,
      icmPages: this.icm.mappedPages,
    };
  }

  portAt(number: number): PersonalityPort | undefined {
    return this.ports[number - 1];
  }

  /** The CQ with exactly this number. */
  findCompletionQueue(cqn: number): MthcaCompletionQueue | undefined {
    const queue = this.completionQueues.get(cqn);
    return queue?.number === cqn ? queue : undefined;
  }

  unitOf(qp: MthcaQueuePair): QueuePairUnit | undefined {
    return qp.isRaw ? this.rawUnit : this.dataUnit;
  }

  /** The HCA stops: all objects are gone, the ports are down, and context memory stays. */
  close(): void {
    this.#dropQueues();
    for (const { count } of this.eventQueues.values()) this.retired.events += count;
    for (const table of [this.regions.table, this.eventQueues]) table.clear();
    this.events.reset();
    if (this.state === HcaState.RUNNING) this.state = HcaState.FIRMWARE;
  }

  reset(): void {
    this.close();
    this.planted.reset();
    this.icm.reset();
    this.firmwarePages = 0;
    this.auxiliaryPages = 0;
    this.errorBuffer.fill(0);
    this.firmware = Firmware.WORKS;
    this.state = HcaState.RESET;
  }

  /**
   * A fatal error: the error buffer shows it, and ports are down until a reset. With firmware that
   * works, all QPs fail and flush what is posted to them, and the driver can take its objects back.
   * Otherwise nothing completes any more. EQs stay, and tell that commands are refused: `ib_mthca`
   * waits 60 s for each command without event.
   */
  fail(kind: FatalKind, firmware: Firmware): void {
    this.firmware = firmware;
    if (firmware === Firmware.WORKS) this.#failQueuePairs();
    else this.#dropQueues();
    this.errorBuffer.fill(0);
    this.errorBuffer[0] = kind;
    // INTERNAL is 0, which alone would look healthy.
    this.errorBuffer[DWORD_BYTES - 1] = 1;
  }

  #failQueuePairs(): void {
    for (const qp of this.queuePairs.values()) this.unitOf(qp)?.move(qp, QpContextState.ERR, false);
    for (const port of this.ports) port.disable();
  }

  #dropQueues(): void {
    for (const qp of this.queuePairs.values()) this.unitOf(qp)?.discard(qp);
    for (const port of this.ports) port.disable();
    for (const { count } of this.completionQueues.values()) this.retired.completions += count;
    for (const table of [this.completionQueues, this.sharedReceiveQueues, this.queuePairs]) table.clear();
    this.groups.place(0, 0);
    this.records.place(0, 0, 0);
    this.specialQpns.fill(0);
  }
}
