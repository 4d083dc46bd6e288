// SPDX-License-Identifier: Apache-2.0
/**
 * One underlying function: a PCIe endpoint with its BARs, registers, vectors, bus mastering and faults (DESIGN.md 4.1, 4.2). Routes what
 * the host brings to the units, and undoes everything on reset.
 */
import { BAR_REGISTERS_BYTES, MSIX_PBA_OFFSET } from '../../protocol/layout/gen/constants.gen.ts';
import { CSR_SIZE } from '../../protocol/layout/gen/registers.gen.ts';
import { EventType, FaultKind, ManagementStatus } from '../../protocol/layout/gen/values.gen.ts';
import { CollectUnit } from '../collect/collect-unit.ts';
import { getCollectBarBytes } from '../collect/geometry.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { WriteCombining } from '../collect/write-combining.ts';
import { DoorbellUnit } from '../doorbells/doorbell-unit.ts';
import { type EventQueue, EventRecord } from '../events/event-queue.ts';
import { Dma } from '../function/dma.ts';
import { FaultLog } from '../function/fault-log.ts';
import { FunctionCounters } from '../function/function-counters.ts';
import { LocalTime } from '../function/local-time.ts';
import { MsixVectors } from '../function/msix.ts';
import type { Timeline } from '../function/timeline.ts';
import type { FunctionPort, HostPort, ResetKind, ResourceAnswer } from '../host.ts';
import { modifyTraceForHost } from '../management/trace-commands.ts';
import type { Port } from '../port/port.ts';
import type { CompletionQueue } from '../queues/completion-queue.ts';
import { EventDoorbells } from '../queues/event-doorbells.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { storeDivider } from '../registers/collect-registers.ts';
import { resetDoorbellRegisters } from '../registers/doorbell-registers.ts';
import { attachFunctionRegisters } from '../registers/function-registers.ts';
import { RegisterFile } from '../registers/register-file.ts';
import { decodeChanges, HOST } from '../shares/share-changes.ts';
import type { Adapter } from './adapter.ts';
import { dropFunction } from './drop-function.ts';
import { getCollectPages } from './options.ts';

const GRANTED: ResourceAnswer = { status: ManagementStatus.OK, index: 0, offset: 0, limit: 0 };

export class AdapterFunction implements FunctionPort {
  readonly number: number;
  readonly adapter: Adapter;
  readonly localTime: LocalTime;
  readonly faults: FaultLog;
  readonly dma: Dma;
  readonly msix: MsixVectors;
  readonly registers: RegisterFile;
  readonly collect: CollectUnit;
  /** Stands in front of the collect unit when the options ask for it. */
  readonly combining: WriteCombining | undefined;
  readonly counters = new FunctionCounters();
  readonly eventDoorbells: EventDoorbells;
  readonly doorbells: DoorbellUnit;
  /** Commands are executed. */
  enabled = false;
  /** Software holds the lock of the dedicated collect buffer. */
  dedicatedLocked = false;
  /** A management command waits for its turn. */
  pendingManagement: PhysicalCollectBuffer | undefined = undefined;
  /** Where asynchronous events go. */
  asynchronousQueue: EventQueue | undefined = undefined;
  /** Set while the host wants to know what the function does. */
  timeline: Timeline | undefined = undefined;
  resetCount = 0;
  readonly #event = new EventRecord();

  constructor(number: number, adapter: Adapter, host: HostPort) {
    this.number = number;
    this.adapter = adapter;
    this.localTime = new LocalTime(adapter.clock);
    this.faults = new FaultLog(this.localTime);
    this.dma = new Dma(host, this.faults);
    this.msix = new MsixVectors(host, number, () => adapter.pending.noteVector());
    this.registers = new RegisterFile(this.faults);
    this.eventDoorbells = new EventDoorbells(this);
    this.doorbells = new DoorbellUnit(this);
    this.collect = this.#createCollectUnit(adapter);
    this.combining = this.#createCombining(adapter);
    attachFunctionRegisters(this);
  }

  get readHigh(): number {
    return this.registers.high;
  }

  readRegister(offset: number, sizeBytes: number): number {
    if (offset < CSR_SIZE) return this.registers.read(offset, sizeBytes);
    this.registers.high = 0;
    const word = (offset - MSIX_PBA_OFFSET) / 4;
    if (sizeBytes >= 4 && word >= 0 && word < this.msix.pending.length && Number.isInteger(word)) {
      if (sizeBytes === 8) this.registers.high = this.msix.pending[word + 1] ?? 0;
      return this.msix.pending[word];
    }
    if (offset >= BAR_REGISTERS_BYTES) this.faults.report(FaultKind.REGISTER_RESERVED, 0, offset);
    return 0;
  }

  /** The MSI-X table is the host's business: writes there never come, and are dropped if they do. */
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    if (offset < CSR_SIZE) this.registers.write(offset, sizeBytes, low >>> 0, high >>> 0);
    else this.faults.report(FaultKind.REGISTER_RESERVED, 0, offset);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    if (this.combining === undefined) this.collect.write(offset, sizeBytes, low >>> 0, high >>> 0);
    else this.combining.write(offset, sizeBytes, low >>> 0, high >>> 0);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.adapter.sendContexts.write(this, offset, sizeBytes, low >>> 0, high >>> 0);
  }

  setBusMaster(on: boolean): void {
    this.dma.setBusMaster(on);
    this.msix.setBusMaster(on);
    if (on) this.adapter.shares.noteAttached(this.number);
  }

  memoryMapped(_address: number, _lengthBytes: number): void {
    this.adapter.shares.noteAttached(this.number);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.doorbells.memoryUnmapped(address, lengthBytes);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    return this.adapter.resourceManager.request(HOST, decodeChanges(changes)) ?? GRANTED;
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    return modifyTraceForHost(this, queuePair, attributes);
  }

  /** Back to power-on: objects destroyed, commands dropped, registers at their reset values, nothing pending. */
  reset(kind: ResetKind): void {
    if (kind !== 'software') this.setBusMaster(false);
    this.enabled = false;
    this.pendingManagement = undefined;
    this.dedicatedLocked = false;
    this.asynchronousQueue = undefined;
    dropFunction(this.adapter, this);
    this.combining?.reset();
    this.collect.reset();
    this.msix.reset();
    this.registers.reset();
    resetDoorbellRegisters(this);
    storeDivider(this);
    this.adapter.shares.noteReset(this.number, kind);
    // A physical function that dies must not leave all others stopped.
    if (this.number === 0) {
      this.adapter.control = 0;
      this.#clearGids();
    }
    this.localTime.reset();
    this.counters.reset();
    this.faults.reset();
    this.resetCount++;
  }

  ringExplicit(low: number, high: number): void {
    this.counters.doorbellsExplicit++;
    this.adapter.admission.ring(this, low, high);
  }

  /** Moves the sub-BAR, and the register that shows it. */
  setDivider(offset: number): void {
    this.collect.qosDivider = offset;
    storeDivider(this);
  }

  /** Posts an asynchronous event about an object, if software gave an event queue for it. */
  postAsynchronous(
    type: EventType,
    object: { number: number; tokenLow: number; tokenHigh: number },
    fault: FaultKind,
  ): void {
    const event = this.#event;
    event.type = type;
    event.port = 0;
    event.objectNumber = object.number;
    event.completionSequence = 0;
    event.fault = fault;
    event.tokenLow = object.tokenLow;
    event.tokenHigh = object.tokenHigh;
    this.asynchronousQueue?.post(event);
  }

  /** Something about a port changed, as `type` says; by default, it became active or stopped being so (IBTA 11.6.3.1). */
  portChanged(port: Port, type: EventType = port.active ? EventType.PORT_ACTIVE : EventType.PORT_ERROR): void {
    const event = this.#event;
    event.type = type;
    event.port = port.number;
    event.objectNumber = 0;
    event.completionSequence = 0;
    event.fault = FaultKind.NONE;
    event.tokenLow = 0;
    event.tokenHigh = 0;
    this.asynchronousQueue?.post(event);
  }

  completionQueueFailed(queue: CompletionQueue, fault: FaultKind): void {
    this.postAsynchronous(EventType.CQ_ERROR, queue, fault);
  }

  eventQueueFailed(queue: EventQueue, fault: FaultKind): void {
    if (queue !== this.asynchronousQueue) this.postAsynchronous(EventType.EQ_ERROR, queue, fault);
  }

  /** A QP cannot go on: error state and an event (IBTA 10.10.2.3). */
  queuePairFailed(qp: QueuePair, fault: FaultKind): void {
    this.adapter.moveToError(qp);
    this.postAsynchronous(EventType.QP_FATAL, qp, fault);
  }

  /** What the physical function added to the ports goes with it; the others are told. */
  #clearGids(): void {
    const { ports, functions } = this.adapter;
    for (const port of ports)
      if (port.clearGids()) for (const each of functions) each.portChanged(port, EventType.GID_CHANGE);
  }

  #createCollectUnit(adapter: Adapter): CollectUnit {
    const sink = {
      kickSend: (buffer: PhysicalCollectBuffer) => adapter.admission.kick(this, buffer),
      ringImplicit: (low: number, high: number) => {
        this.counters.doorbellsImplicit++;
        adapter.admission.ring(this, low, high);
      },
      ringExplicit: (low: number, high: number) => this.ringExplicit(low, high),
      stop: (low: number) => adapter.admission.stop(this, low),
      notify: (low: number, high: number) => this.eventDoorbells.notify(low, high),
      kickManagement: (buffer: PhysicalCollectBuffer) => {
        this.pendingManagement = buffer;
        adapter.pending.noteManagement();
      },
    };
    return new CollectUnit({
      functionNumber: this.number,
      pageCount: getCollectPages(adapter.options),
      space: adapter.vcbSpace,
      allocator: adapter.collectBuffers,
      sink,
      faults: this.faults,
    });
  }

  #createCombining({ options }: Adapter): WriteCombining | undefined {
    if (options.writeCombining === undefined) return undefined;
    const barBytes = getCollectBarBytes(this.collect.pageCount);
    return new WriteCombining(options.writeCombining, this.number, barBytes, (offset, sizeBytes, low, high) =>
      this.collect.write(offset, sizeBytes, low, high),
    );
  }
}
