// SPDX-License-Identifier: Apache-2.0
/**
 * Underlying function (US 8,484,392 par. 32): the state that every unit needs of the PCIe function
 * that an object belongs to. It has number, bus mastering, vectors, local time, fault log, counters
 * and the queue of asynchronous events. It knows no unit. The PCIe endpoint around it is
 * `adapter/pcie-function.ts`.
 */
import { EventType, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterClock, HostPort, ResetKind } from '../../host.ts';
import type { LoanBook } from '../../loan-book.ts';
import { AnnouncedMemory } from './announced-memory.ts';
import { DEVICE_MEMORY_DEFAULT_BYTES, DeviceMemory } from './device-memory.ts';
import { Dma } from './dma.ts';
import { type AsynchronousEventQueue, EventRecord, type EventSubject, PageFaultRecord } from './event-record.ts';
import { FaultLog } from './fault-log.ts';
import { FunctionCounters } from './function-counters.ts';
import { LocalTime } from './local-time.ts';
import { MsixVectors, type VectorNotes } from './msix.ts';
import type { Timeline } from './timeline.ts';
import { TranslationEntries } from './translation-entries.ts';

/** Number of the physical function; all others are virtual functions. */
export const PHYSICAL_FUNCTION = 0;

/** What a function has in common with the others of its adapter. */
export interface FunctionNotes extends VectorNotes {
  /** Payload in guest memory to which packets refer. */
  readonly loans: LoanBook;
}

export class UnderlyingFunction {
  readonly number: number;
  readonly localTime: LocalTime;
  readonly faults: FaultLog;
  readonly dma: Dma;
  readonly deviceMemory: DeviceMemory;
  readonly translations: TranslationEntries;
  readonly msix: MsixVectors;
  readonly counters = new FunctionCounters();
  /**
   * Place of its port 1 among the ports of the adapter; 0 while all functions share the ports.
   */
  portBase = 0;
  /** What software has announced, while the option `orderCheck` looks at it. */
  announced: AnnouncedMemory | undefined = undefined;
  /** DEVICE_CONTROL.enable: the function executes commands. */
  enabled = false;
  /** The queue that receives asynchronous events, if software named one. */
  asynchronousQueue: AsynchronousEventQueue | undefined = undefined;
  /** The timeline of the function's units, while the host records one. */
  timeline: Timeline | undefined = undefined;
  /**
   * Guest address of the address handle table, and its number of entries (ADDRESS_HANDLE_TABLE,
   * ADDRESS_HANDLE_COUNT).
   */
  addressHandleTable = 0;
  addressHandleCount = 0;
  /** Time for which a send queue is watched after its last command; 0: none is (SHADOW_TAILS). */
  tailWindowNs = 0;
  /** Resets since power-on, and by their cause. */
  resetCount = 0;
  readonly resets: Record<ResetKind, number> = { device: 0, function: 0, lost: 0, software: 0 };
  readonly #event = new EventRecord();
  readonly #page = new PageFaultRecord();

  /** `translationQuota`: most translation entries of the function. */
  constructor(
    number: number,
    clock: AdapterClock,
    host: HostPort,
    notes: FunctionNotes,
    deviceMemoryBytes = DEVICE_MEMORY_DEFAULT_BYTES,
    translationQuota = 0,
  ) {
    this.number = number;
    this.localTime = new LocalTime(clock);
    this.faults = new FaultLog(this.localTime);
    this.dma = new Dma(host, this.faults, notes.loans);
    this.deviceMemory = new DeviceMemory(deviceMemoryBytes, this.faults);
    this.translations = new TranslationEntries(translationQuota);
    this.msix = new MsixVectors(host, this, notes);
  }

  /** From now on stores are found that software makes after the access that announces them. */
  checkOrder(): void {
    this.announced = new AnnouncedMemory(this.dma, this.localTime);
  }

  setBusMaster(on: boolean): void {
    this.dma.setBusMaster(on);
    this.msix.setBusMaster(on);
  }

  /**
   * Posts an asynchronous event about an object, if software named an event queue for such events.
   */
  postAsynchronous(type: EventType, subject: EventSubject, fault: FaultKind): void {
    const event = this.#event;
    event.type = type;
    event.port = 0;
    event.objectNumber = subject.number;
    event.completionSequence = 0;
    event.fault = fault;
    event.tokenLow = subject.tokenLow;
    event.tokenHigh = subject.tokenHigh;
    this.asynchronousQueue?.post(event);
  }

  /**
   * Posts the event of an access of a queue pair that met a page that is not present. Returns false
   * while there is no room for it.
   */
  postPageFault(qpn: number, key: number, address: number, lengthBytes: number, isWrite: boolean): boolean {
    const event = this.#event;
    event.type = EventType.PAGE_FAULT;
    event.port = 0;
    event.objectNumber = qpn;
    event.completionSequence = 0;
    event.fault = FaultKind.NONE;
    event.tokenLow = 0;
    event.tokenHigh = 0;
    const page = this.#page;
    page.key = key;
    page.address = address;
    page.lengthBytes = lengthBytes;
    page.isWrite = isWrite;
    return this.asynchronousQueue?.postPageFault(event, page) ?? false;
  }

  /** Posts an asynchronous event about a port (IBTA 11.6.3.1). */
  postPortEvent(type: EventType, portNumber: number): void {
    const event = this.#event;
    event.type = type;
    event.port = portNumber;
    event.objectNumber = 0;
    event.completionSequence = 0;
    event.fault = FaultKind.NONE;
    event.tokenLow = 0;
    event.tokenHigh = 0;
    this.asynchronousQueue?.post(event);
  }

  /** Reports a completion queue that went into error (IBTA 11.6.3.2). */
  completionQueueFailed(queue: EventSubject, fault: FaultKind): void {
    this.postAsynchronous(EventType.CQ_ERROR, queue, fault);
  }

  /**
   * Reports an event queue that went into error. The asynchronous queue cannot report its own
   * error.
   */
  eventQueueFailed(queue: EventSubject & AsynchronousEventQueue, fault: FaultKind): void {
    if (queue !== this.asynchronousQueue) this.postAsynchronous(EventType.EQ_ERROR, queue, fault);
  }

  /** First part of a reset: the units stop using the function. */
  quiesce(): void {
    this.enabled = false;
    this.asynchronousQueue = undefined;
    this.announced?.reset();
  }

  /** Last part of a reset. It clears also the counts that the resets of the units have caused. */
  reset(kind: ResetKind): void {
    this.addressHandleTable = 0;
    this.addressHandleCount = 0;
    this.deviceMemory.reset();
    this.localTime.reset();
    this.counters.reset();
    this.faults.reset();
    this.resetCount++;
    this.resets[kind]++;
  }
}
