// SPDX-License-Identifier: Apache-2.0
/**
 * Event queue: a ring of 64-byte EQEs in guest memory with one interrupt vector, completion event
 * counter, interrupt timer and summary bytes (IPCOM000126453D par. 2-4; docs/DOCUMENTS.md
 * decision 8). An EQE is never overwritten: a full queue goes into error. Completion queues and
 * functions post here.
 * Commands: event-queue-commands, report: status-report, view: contents/events.
 */

import { ENTRY_SEQUENCE_FIRST } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  EVENT_ENTRY_PAGE_ADDRESS_OFFSET,
  EVENT_ENTRY_SEQUENCE_BYTES,
  EVENT_ENTRY_SEQUENCE_OFFSET,
  EVENT_ENTRY_SIZE,
  setEventEntryCompletionSequence,
  setEventEntryEventType,
  setEventEntryFaultKind,
  setEventEntryObjectNumber,
  setEventEntryPageAddress,
  setEventEntryPageKey,
  setEventEntryPageLength,
  setEventEntryPageWrite,
  setEventEntryPort,
  setEventEntrySequence,
  setEventEntryTimestampHigh,
  setEventEntryTimestampLow,
  setEventEntryTokenHigh,
  setEventEntryTokenLow,
} from '../../../protocol/layout/gen/event-entry.gen.ts';
import { EqControl, FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { EventRecord, PageFaultRecord } from '../function/event-record.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import { NoInterrupt } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import { InterruptTimer } from './interrupt-timer.ts';

const SEQUENCE_BYTES = EVENT_ENTRY_SEQUENCE_BYTES;
const SUMMARY_SET = Uint8Array.of(1);
/** Part of the entries that completion events leave for others. */
const HEADROOM_PART = 16;

/** An event queue of 2^`entriesLog2` EQEs in `memory`. */
export class EventQueue implements FaultSubject {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly memory: QueueMemory;
  readonly entries: number;
  vector: number;
  controls: number;
  asynchronous: boolean;
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of CQs and pending commands that post here. */
  references = 0;
  producerCount = 0;
  consumed = 0;
  /** Completion event counter (CEC): number of CQs of this queue whose EQ pending bit is set. */
  completionEventCounter = 0;
  readonly timer = new InterruptTimer();
  /** Guest address of the primary summary byte, or 0. */
  primarySummaryAddress = 0;
  /** Guest address of the secondary summary bytes, and their number. */
  secondarySummaryAddress = 0;
  secondarySummaryCount = 0;
  /** Number of interrupts requested, and of those requested because the driver was late. */
  interrupts = 0;
  unresponsive = 0;
  error = false;
  readonly #entry = new Uint8Array(EVENT_ENTRY_SIZE);
  readonly #view = new DataView(this.#entry.buffer);

  constructor(number: number, owner: UnderlyingFunction, memory: QueueMemory, entriesLog2: number) {
    this.number = number;
    this.owner = owner;
    this.memory = memory;
    this.entries = 2 ** entriesLog2;
    this.vector = 0;
    this.controls = EqControl.NOTHING;
    this.asynchronous = false;
  }

  get faultObject(): FaultObject {
    return FaultObject.EQ;
  }

  get translationEntries(): number {
    return this.memory.translationEntries;
  }

  /**
   * Posts an event that belongs to no CQ. There is no EQ pending bit, so each such event sets the
   * primary summary byte and interrupts as the controls say, whatever the stamp. Returns false when
   * the queue is full, in error, or its memory is gone.
   */
  post(event: EventRecord): boolean {
    if (!this.#store(event)) return false;
    this.#announce();
    return true;
  }

  postPageFault(event: EventRecord, { address, lengthBytes, key, isWrite }: Readonly<PageFaultRecord>): boolean {
    if (this.error || (this.producerCount - this.consumed) >>> 0 >= this.entries / 2) return false;
    const view = this.#view;
    setEventEntryPageAddress(view, 0, address);
    setEventEntryPageLength(view, 0, lengthBytes);
    setEventEntryPageKey(view, 0, key);
    setEventEntryPageWrite(view, 0, Number(isWrite));
    const posted = this.post(event);
    // Other events do not write these fields.
    this.#entry.fill(0, EVENT_ENTRY_PAGE_ADDRESS_OFFSET, EVENT_ENTRY_SEQUENCE_OFFSET);
    return posted;
  }

  /**
   * Posts the completion event of a CQ whose EQ pending bit is clear; the caller sets the bit.
   * `summaryIndex` is the CQ's secondary summary byte. On a queue that held no completion event the
   * controls decide. Otherwise the stamp does: a late driver is interrupted whatever the controls
   * are (IPCOM000126453D par. 3-4). Result as for `post`.
   */
  postCompletion(event: EventRecord, summaryIndex: number): boolean {
    if (!this.#store(event)) return false;
    if (summaryIndex < this.secondarySummaryCount) {
      this.#set(this.owner.dma.at(this.secondarySummaryAddress + summaryIndex));
      this.owner.timeline?.note(Step.SUMMARY, this.owner.number, this.number, 1 + summaryIndex);
    }
    const { localTime } = this.owner;
    if (this.completionEventCounter++ === 0) {
      this.timer.restart(localTime);
      this.#announce();
    } else if (this.timer.isLate(localTime)) {
      this.timer.restart(localTime);
      if (!this.#interruptsEach()) this.unresponsive = (this.unresponsive + 1) >>> 0;
      this.#interrupt(true);
    } else {
      this.#noteNoInterrupt(NoInterrupt.BEFORE_STAMP);
    }
    return true;
  }

  /**
   * Most CQs that may report here. Each has at most one entry until its EQ pending bit is cleared;
   * a sixteenth of a long queue is left for events of other kinds.
   */
  get queueLimit(): number {
    return this.entries - Math.floor(this.entries / HEADROOM_PART);
  }

  /** Counts one completion event less: software has cleared the EQ pending bit of a CQ. */
  takeCompletion(): void {
    this.completionEventCounter--;
  }

  /**
   * Takes software's count of EQEs read. A count that was never posted is ignored and reported as a
   * fault.
   */
  consume(consumed: number): void {
    const unread = (this.producerCount - consumed) >>> 0;
    if (unread > (this.producerCount - this.consumed) >>> 0)
      return this.owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, this, consumed);
    this.consumed = consumed;
  }

  /** Ends the error: the next event goes to the next slot, if the queue has room. */
  revive(): void {
    this.error = false;
  }

  /** Samples local time and stores the EQE. */
  #store(event: EventRecord): boolean {
    if (this.error) return false;
    if ((this.producerCount - this.consumed) >>> 0 >= this.entries) return this.#fail(FaultKind.EQ_OVERRUN);
    this.#compose(event);
    const slot = this.producerCount % this.entries;
    const dma = this.memory.at(this.owner.dma, slot * EVENT_ENTRY_SIZE);
    if (!dma.publish(this, this.#entry, EVENT_ENTRY_SIZE, SEQUENCE_BYTES)) return this.#fail(FaultKind.DMA_WRITE);
    this.producerCount = (this.producerCount + 1) >>> 0;
    this.owner.timeline?.note(
      Step.EQE,
      this.owner.number,
      this.number,
      event.type,
      event.objectNumber,
      event.completionSequence,
      this.producerCount,
      event.cause,
    );
    return true;
  }

  /** Software asked for an interrupt at each event: none of them means that it is late. */
  #interruptsEach(): boolean {
    return this.controls === EqControl.INTERRUPT && this.timer.immediate;
  }

  /** Sets the primary summary byte and interrupts as the controls say. */
  #announce(): void {
    if (this.controls === EqControl.NOTHING) return this.#noteNoInterrupt(NoInterrupt.CONTROLS);
    if (this.primarySummaryAddress !== 0) {
      this.#set(this.owner.dma.at(this.primarySummaryAddress));
      this.owner.timeline?.note(Step.SUMMARY, this.owner.number, this.number, 0);
    }
    if (this.controls !== EqControl.INTERRUPT) this.#noteNoInterrupt(NoInterrupt.CONTROLS);
    else if (this.timer.pollOnly) this.#noteNoInterrupt(NoInterrupt.POLL_ONLY);
    else this.#interrupt(false);
  }

  /**
   * Sets the summary byte at the address of `dma`. A byte that cannot be written is a counted bus
   * fault; the event stays posted.
   */
  #set(dma: Dma): void {
    dma.write(this, SUMMARY_SET, 0, 1);
  }

  /** Requests the interrupt. The message is sent at the end of the pass, after all its writes. */
  #interrupt(late: boolean): void {
    this.interrupts = (this.interrupts + 1) >>> 0;
    this.owner.timeline?.note(
      Step.INTERRUPT_REQUEST,
      this.owner.number,
      this.vector,
      this.number,
      this.producerCount,
      late ? 1 : 0,
    );
    this.owner.msix.request(this.vector);
  }

  /** Notes that the event posted last requests no interrupt, and why. */
  #noteNoInterrupt(reason: NoInterrupt): void {
    this.owner.timeline?.note(Step.NO_INTERRUPT, this.owner.number, this.number, this.producerCount, reason);
  }

  #compose(event: EventRecord): void {
    const view = this.#view;
    const time = this.owner.localTime;
    time.sample();
    setEventEntryEventType(view, 0, event.type);
    setEventEntryPort(view, 0, event.port);
    setEventEntryObjectNumber(view, 0, event.objectNumber);
    setEventEntryCompletionSequence(view, 0, event.completionSequence);
    setEventEntryFaultKind(view, 0, event.fault);
    setEventEntryTimestampLow(view, 0, time.low);
    setEventEntryTimestampHigh(view, 0, time.high);
    setEventEntryTokenLow(view, 0, event.tokenLow);
    setEventEntryTokenHigh(view, 0, event.tokenHigh);
    setEventEntrySequence(view, 0, (this.producerCount + ENTRY_SEQUENCE_FIRST) >>> 0);
  }

  #fail(fault: FaultKind): boolean {
    this.error = true;
    if (fault === FaultKind.EQ_OVERRUN) this.owner.faults.report(fault, this, this.producerCount);
    this.owner.eventQueueFailed(this, fault);
    return false;
  }
}
