// SPDX-License-Identifier: Apache-2.0
/**
 * The PCIe endpoint of one underlying function, physical or virtual (US 8,484,392 par. 30-32;
 * docs/DOCUMENTS.md decisions 14 and 16): its BARs, and the units that serve it alone. It routes
 * accesses of the host to the units, and undoes everything on reset. Hosts call it through
 * `FunctionPort`.
 */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { FunctionPort, ResetKind, ResourceAnswer } from '../../host.ts';
import type { CollectSink } from '../collect/collect-unit.ts';
import { CollectUnit } from '../collect/collect-unit.ts';
import type { DedicatedCollectBuffer } from '../collect/dedicated-collect-buffer.ts';
import { getCollectBarBytes } from '../collect/geometry.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { WriteCombining } from '../collect/write-combining.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import { Step } from '../function/timeline.ts';
import { PHYSICAL_FUNCTION, type UnderlyingFunction } from '../function/underlying-function.ts';
import { announceResponse } from '../management/announced-response.ts';
import { CommandProgress } from '../management/command-progress.ts';
import type { ChannelAdapter, ManagedAdapter, ManagedFunction } from '../management/managed-adapter.ts';
import { clearGids, forgetSoftware } from '../management/port-commands.ts';
import { modifyTraceForHost } from '../management/trace-commands.ts';
import type { ContextOrKernel } from '../queues/collect-context.ts';
import { EventDoorbells } from '../queues/event-doorbells.ts';
import { storeDivider } from '../registers/collect-registers.ts';
import { resetDoorbellRegisters } from '../registers/doorbell-registers.ts';
import { readDoorbellSettings, writeDoorbellSettings } from '../registers/doorbell-settings.ts';
import { attachFunctionRegisters } from '../registers/function-registers.ts';
import { RegisterBar } from '../registers/register-bar.ts';
import { RegisterFile } from '../registers/register-file.ts';
import type { RegisterParts, SharedRegisterParts } from '../registers/register-parts.ts';
import type { CommandAdmission } from '../scheduler/command-admission.ts';
import { DoorbellUnit } from '../scheduler/doorbell-unit.ts';
import type { DoorbellSettings } from '../shares/setting-changes.ts';
import type { ShareAdjuster } from '../shares/share-adjuster.ts';
import { decodeChanges, HOST } from '../shares/share-changes.ts';
import type { TransportEngine } from '../transport/engine/engine.ts';
import { type AdapterOptions, getCollectPages, MANAGEMENT_BUFFERS_DEFAULT } from './options.ts';
import type { PendingWork } from './pending-work.ts';
import { HELD_DOORBELL, PostedBus } from './posted-bus.ts';

const GRANTED: ResourceAnswer = { status: ManagementStatus.OK, index: 0, offset: 0, limit: 0 };

/** Units and options of the adapter that its functions share. */
export interface SharedAdapterParts extends ManagedAdapter, SharedRegisterParts {
  readonly options: AdapterOptions;
  readonly pending: PendingWork;
  readonly admission: CommandAdmission;
  readonly shareAdjuster: ShareAdjuster;
  readonly engine: TransportEngine;
  readonly dmaTiming: DmaTiming;
}

export class PcieFunction implements FunctionPort, CollectSink, ManagedFunction, RegisterParts {
  readonly underlying: UnderlyingFunction;
  readonly nodeGuid: Uint8Array;
  readonly description: string;
  readonly ports: readonly Port[];
  readonly mads: MadInterface;
  readonly managesPorts: boolean;
  readonly hasOwnPorts: boolean;
  readonly shared: SharedAdapterParts;
  readonly registers: RegisterFile;
  readonly #registerBar: RegisterBar;
  readonly collect: CollectUnit;
  /** In front of the collect unit, if the options ask for it. */
  readonly combining: WriteCombining | undefined;
  readonly bus: PostedBus;
  readonly eventDoorbells: EventDoorbells;
  readonly doorbells: DoorbellUnit;
  readonly pendingManagement: DedicatedCollectBuffer[] = [];
  readonly progress: CommandProgress;

  /** `channel`: the channel adapter that the function is, or shares. */
  constructor(underlying: UnderlyingFunction, channel: ChannelAdapter, shared: SharedAdapterParts) {
    this.underlying = underlying;
    this.progress = new CommandProgress(underlying);
    this.nodeGuid = channel.nodeGuid;
    this.description = channel.description;
    this.ports = channel.ports;
    this.mads = channel.mads;
    this.hasOwnPorts = channel.ports[0].owner === underlying.number;
    this.managesPorts = this.hasOwnPorts || underlying.number === PHYSICAL_FUNCTION;
    underlying.portBase = channel.ports[0].index;
    this.shared = shared;
    const { scheduler, tables, options } = shared;
    const { doorbellEntries, busReads, busDepth } = options;
    this.registers = new RegisterFile(underlying.faults);
    this.#registerBar = new RegisterBar(this.registers, underlying);
    this.eventDoorbells = new EventDoorbells(underlying, tables);
    this.doorbells = new DoorbellUnit(underlying, {
      scheduler,
      queuePairs: tables.queuePairs,
      doorbellEntries,
      busReads,
      ...(busDepth === undefined ? {} : { busDepth }),
      timing: shared.dmaTiming,
      deliver: (offset, sizeBytes, low, high) => {
        if (offset === HELD_DOORBELL) this.ringExplicit(low, high);
        else this.collect.write(offset, sizeBytes, low, high);
      },
    });
    scheduler.addUnit(this.doorbells);
    this.collect = this.#createCollectUnit();
    this.bus = new PostedBus(this.doorbells, options.bus === 'pcie', (offset, sizeBytes, low, high) =>
      this.collect.write(offset, sizeBytes, low, high),
    );
    this.combining = this.#createCombining();
    attachFunctionRegisters(this);
  }

  /** Collect writes wait in the modelled processor. */
  get isCombining(): boolean {
    return this.combining?.busy ?? false;
  }

  get readHigh(): number {
    return this.registers.high;
  }

  get takesAccess(): boolean {
    return this.bus.takesAccess;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.underlying.dma.loans.end();
    this.underlying.announced?.lookAgain();
    return this.#registerBar.read(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    if (!isDoorbell(offset)) this.underlying.dma.loans.end();
    this.underlying.announced?.lookAgain();
    if (offset === CSR.SEND_DOORBELL && sizeBytes === 8 && !this.takesAccess)
      this.bus.hold(HELD_DOORBELL, 8, low, high);
    else this.#registerBar.write(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.underlying.announced?.lookAgain();
    if (this.combining === undefined) this.bus.write(offset, sizeBytes, low | 0, high | 0);
    else this.combining.write(offset, sizeBytes, low | 0, high | 0);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.underlying.announced?.lookAgain();
    this.shared.sendContexts.write(this.underlying, offset, sizeBytes, low | 0, high | 0);
  }

  setBusMaster(on: boolean): void {
    this.underlying.setBusMaster(on);
    if (on) this.shared.shareAdjuster.noteAttached(this.underlying.number);
  }

  memoryMapped(_address: number, _lengthBytes: number): void {
    this.shared.shareAdjuster.noteAttached(this.underlying.number);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.underlying.dma.loans.end();
    this.doorbells.memoryUnmapped(address, lengthBytes);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    return this.shared.shareManager.request(HOST, decodeChanges(changes)) ?? GRANTED;
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    return modifyTraceForHost(this.shared, this.underlying, queuePair, attributes);
  }

  plantFault(): void {}

  /**
   * Returns to the state of power-on: objects destroyed, commands dropped, registers at their reset
   * values, nothing pending (docs/DOCUMENTS.md decision 15).
   */
  reset(kind: ResetKind): void {
    const { underlying, shared } = this;
    underlying.timeline?.note(Step.FUNCTION_RESET, underlying.number, Number(kind !== 'software'));
    if (kind !== 'software') this.setBusMaster(false);
    underlying.quiesce();
    this.pendingManagement.length = 0;
    this.progress.end();
    this.#dropObjects();
    this.combining?.reset();
    this.collect.reset();
    underlying.msix.reset();
    this.registers.reset();
    resetDoorbellRegisters(this);
    storeDivider(this);
    shared.shareAdjuster.noteReset(underlying.number, kind);
    // A physical function that dies must not leave the other functions stopped.
    if (underlying.number === PHYSICAL_FUNCTION) {
      shared.control = 0;
      shared.dmaTiming.reset();
      shared.laneTable.reset();
      shared.lanes.map.validateAll();
    }
    if (this.managesPorts) {
      clearGids(this, shared.functions);
      forgetSoftware(this);
    }
    underlying.reset(kind);
  }

  kickSend(buffer: PhysicalCollectBuffer, context: ContextOrKernel): void {
    this.shared.admission.kick(this.doorbells, buffer, context);
  }

  ringImplicit(low: number, high: number, context: ContextOrKernel): void {
    this.underlying.counters.doorbellsImplicit++;
    this.shared.admission.ringRefused(this.doorbells, low, high, context);
  }

  ringExplicit(low: number, high: number, context?: ContextOrKernel): void {
    this.underlying.counters.doorbellsExplicit++;
    this.shared.admission.ring(this.doorbells, low, high, context);
  }

  stop(low: number, context: ContextOrKernel): void {
    this.shared.admission.stop(this.doorbells, low, context);
  }

  notify(low: number, high: number, context: ContextOrKernel): void {
    this.eventDoorbells.notify(low, high, context);
  }

  kickManagement(buffer: DedicatedCollectBuffer): void {
    announceResponse(this.underlying, buffer.view);
    this.pendingManagement.push(buffer);
    this.shared.pending.noteManagement();
  }

  /** Moves the sub-BAR of QoS level 1 to `offset`, and the register that shows it. */
  setDivider(offset: number): void {
    this.collect.qosDivider = offset;
    storeDivider(this);
  }

  get doorbellSettings(): DoorbellSettings {
    return readDoorbellSettings(this);
  }

  set doorbellSettings(settings: DoorbellSettings) {
    writeDoorbellSettings(this, settings);
  }

  /** Destroys all objects of the function and drops its commands. */
  #dropObjects(): void {
    const { underlying, shared } = this;
    shared.lanes.drop(underlying);
    shared.engine.pipeline.drop(underlying);
    shared.sendContexts.dropFunction(underlying);
    this.doorbells.reset();
    shared.tables.queuePairs.forEach((qp) => {
      if (qp.owner === underlying) shared.engine.life.drop(qp);
    });
    shared.tables.drop(underlying);
  }

  #createCollectUnit(): CollectUnit {
    const { underlying, shared } = this;
    return new CollectUnit({
      owner: underlying,
      pageCount: getCollectPages(shared.options),
      dedicatedCount: shared.options.managementBufferCount ?? MANAGEMENT_BUFFERS_DEFAULT,
      space: shared.vcbSpace,
      allocator: shared.collectBuffers,
      sink: this,
    });
  }

  #createCombining(): WriteCombining | undefined {
    const { writeCombining } = this.shared.options;
    if (writeCombining === undefined) return undefined;
    const { collect, underlying } = this;
    const barBytes = getCollectBarBytes(collect.pageCount);
    return new WriteCombining(writeCombining, underlying.number, barBytes, (offset, sizeBytes, low, high) =>
      this.bus.write(offset, sizeBytes, low, high),
    );
  }
}

/** Doorbells only add work: payload on loan may stay where it is. */
function isDoorbell(offset: number): boolean {
  return offset >= CSR.CQ_NOTIFY && offset <= CSR.SEND_DOORBELL;
}
