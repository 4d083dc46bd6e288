// SPDX-License-Identifier: Apache-2.0
/**
 * Underlying function: what every unit needs of the PCIe function that an object belongs to (the
 * underlying function of the Oracle documents): its number, bus mastering, vectors, local time, fault log and counters.
 * It knows no unit. The PCIe endpoint around it is `adapter/pcie-function.ts`.
 */
import { EventType, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import { Dma } from './dma.ts';
import { type AsynchronousEventQueue, EventRecord, type EventSubject } from './event-record.ts';
import { FaultLog } from './fault-log.ts';
import { FunctionCounters } from './function-counters.ts';
import { LocalTime } from './local-time.ts';
import { MsixVectors } from './msix.ts';
import type { Timeline } from './timeline.ts';

/** Number of the physical function; the others are virtual functions. */
export const PHYSICAL_FUNCTION = 0;

export class UnderlyingFunction {
  readonly number: number;
  readonly localTime: LocalTime;
  readonly faults: FaultLog;
  readonly dma: Dma;
  readonly msix: MsixVectors;
  readonly counters = new FunctionCounters();
  /** DEVICE_CONTROL.enable: the function executes commands. */
  enabled = false;
  /** The queue that takes asynchronous events, if software named one. */
  asynchronousQueue: AsynchronousEventQueue | undefined = undefined;
  /** Set while the host records a timeline of the function. */
  timeline: Timeline | undefined = undefined;
  /** Guest address of the table of address handles, and its entries (ADDRESS_HANDLE_TABLE, ADDRESS_HANDLE_COUNT). */
  addressHandleTable = 0;
  addressHandleCount = 0;
  /** Resets since power-on. */
  resetCount = 0;
  readonly #event = new EventRecord();

  /** `onVector`: a vector waits to be sent. */
  constructor(number: number, clock: AdapterClock, host: HostPort, onVector: () => void) {
    this.number = number;
    this.localTime = new LocalTime(clock);
    this.faults = new FaultLog(this.localTime);
    this.dma = new Dma(host, this.faults);
    this.msix = new MsixVectors(host, this, onVector);
  }

  setBusMaster(on: boolean): void {
    this.dma.setBusMaster(on);
    this.msix.setBusMaster(on);
  }

  /** Posts an asynchronous event about an object, if software named an event queue for such events. */
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

  /** A completion queue went into error (IBTA 11.6.3.2). */
  completionQueueFailed(queue: EventSubject, fault: FaultKind): void {
    this.postAsynchronous(EventType.CQ_ERROR, queue, fault);
  }

  /** An event queue went into error. The asynchronous queue cannot report its own error. */
  eventQueueFailed(queue: EventSubject & AsynchronousEventQueue, fault: FaultKind): void {
    if (queue !== this.asynchronousQueue) this.postAsynchronous(EventType.EQ_ERROR, queue, fault);
  }

  /** The state of power-on that reset gives back first: the units stop using the function. */
  quiesce(): void {
    this.enabled = false;
    this.asynchronousQueue = undefined;
  }

  /** The state of power-on that reset gives back last: what the units' own resets may still have counted is cleared. */
  reset(): void {
    this.addressHandleTable = 0;
    this.addressHandleCount = 0;
    this.localTime.reset();
    this.counters.reset();
    this.faults.reset();
    this.resetCount++;
  }
}
