// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queue: a ring of 64-byte CQEs in guest memory. It posts at most one event until
 * software enables it again (IBTA 11.4.2; EQ pending, IPCOM000126453D par. 2; docs/DOCUMENTS.md
 * decision 11). A full queue goes into error once, and no CQE is overwritten.
 * `transport/completions.ts` fills and posts CQEs.
 */

import {
  COMPLETION_ENTRY_SIZE,
  setCompletionEntrySequence,
  setCompletionEntryTimestampHigh,
  setCompletionEntryTimestampLow,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  getCompletionQueueRecordConsumed,
} from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { ENTRY_SEQUENCE_FIRST } from '../../../protocol/layout/gen/constants.gen.ts';
import { EventType, FaultKind, FaultObject, NotifyState } from '../../../protocol/layout/gen/values.gen.ts';
import type { EventQueue } from '../events/event-queue.ts';
import { compact, packAddress, unpackAddress } from '../function/compact-number.ts';
import { EventRecord } from '../function/event-record.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { ScratchBlock } from '../function/scratch-block.ts';
import { Step } from '../function/timeline.ts';
import { EventCause, NoEvent, quietStates } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { EntryMove } from '../memory/move-entries.ts';
import type { StepResult } from '../memory/page-list.ts';
import { locateEntry, type QueueMemory } from '../memory/queue-memory.ts';
import type { ContextOrKernel } from './collect-context.ts';
import { type CompletionPort, noteCompletion } from './completion-port.ts';
import type { CompletionTimes } from './completion-times.ts';
import type { EventModeration, ModeratedQueue } from './event-moderation.ts';

/** Last producer count before it wraps. */
const LAST_COUNT = 2 ** 32 - 1;

/**
 * Work space shared by all queues. A CQE is posted as soon as it is filled, and separate buffers
 * for each queue would spread over more memory.
 */
const entry = new ScratchBlock(COMPLETION_ENTRY_SIZE);
const record = new ScratchBlock(COMPLETION_QUEUE_RECORD_SIZE);
const event = new EventRecord();

/** Fields are in the order of use: those that every completion needs come first. */
export class CompletionQueue implements CompletionPort, FaultSubject, ModeratedQueue {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  error = false;
  entries: number;
  producerCount = 0;
  /** Consumer count as last read from the record in guest memory. */
  consumed = 0;
  memory: QueueMemory;
  /** `packedBase` of the memory. */
  #base: number;
  notifyState: NotifyState = NotifyState.UNARMED;
  /** Producer count just after the last solicited or failed completion. */
  #solicitedCount = 0;
  eqPending = false;
  eventQueue: EventQueue | undefined = undefined;
  /** Software's count of CQEs taken at its last request for an event. */
  #requested = 0;
  /** Context whose pages may request events, beside the kernel's. */
  collectContext: ContextOrKernel = undefined;
  /** Packed address of the record with software's consumer count. */
  readonly #record: number;
  /** Index of the secondary summary byte of this queue. */
  summaryIndex = 0;
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of work queues that complete here. */
  references = 0;
  /** Where events wait; undefined: each one is posted at once. */
  moderation: EventModeration | undefined = undefined;
  completionTimes: CompletionTimes | undefined = undefined;
  moderationCount = 0;
  moderationNs = 0;
  heldUntilNs = Number.POSITIVE_INFINITY;
  heldAt = 0;

  constructor(
    number: number,
    owner: UnderlyingFunction,
    memory: QueueMemory,
    recordAddress: number,
    entriesLog2: number,
  ) {
    this.number = number;
    this.owner = owner;
    this.memory = memory;
    this.#base = memory.packedBase;
    this.#record = packAddress(recordAddress);
    this.entries = 1 << entriesLog2;
  }

  get faultObject(): FaultObject {
    return FaultObject.CQ;
  }

  get recordAddress(): number {
    return unpackAddress(this.#record);
  }

  get translationEntries(): number {
    return this.memory.translationEntries;
  }

  /**
   * Clears the CQE of the work space and returns it. The caller fills it with the generated setters
   * and calls `post`.
   */
  begin(): DataView {
    entry.clear();
    return entry.view;
  }

  /**
   * Posts the CQE of the work space. `solicited`: it also satisfies a request for solicited
   * completions. Returns false when the queue is in error.
   */
  post(solicited: boolean): boolean {
    if (this.error) {
      this.owner.faults.report(FaultKind.CQ_ERROR, this, 0);
      return false;
    }
    if (this.#full()) return this.#fail(FaultKind.CQ_OVERRUN);
    const time = this.owner.localTime;
    time.sample();
    setCompletionEntryTimestampLow(entry.view, 0, time.low);
    setCompletionEntryTimestampHigh(entry.view, 0, time.high);
    setCompletionEntrySequence(entry.view, 0, (this.producerCount + ENTRY_SEQUENCE_FIRST) >>> 0);
    const offset = (this.producerCount % this.entries) * COMPLETION_ENTRY_SIZE;
    const dma = locateEntry(this.owner.dma, this.#base, this.memory, offset);
    if (!dma.publishBlock(this, entry, COMPLETION_ENTRY_SIZE)) return this.#fail(FaultKind.DMA_WRITE);
    this.moderation?.noteCompletion(this);
    this.producerCount = (this.producerCount + 1) >>> 0;
    if (solicited) this.#solicitedCount = this.producerCount;
    if (this.owner.timeline !== undefined) noteCompletion(this.owner, entry.view, this.number, this.producerCount);
    if (this.notifyState === NotifyState.ARMED_ALL || (solicited && this.notifyState === NotifyState.ARMED_SOLICITED))
      this.#offerEvent(EventCause.COMPLETION);
    else if (this.owner.timeline !== undefined) this.#noteNoEvent(quietStates[this.notifyState]);
    return true;
  }

  /**
   * Takes software's request for an event (cq-notify). `consumed` is software's count of CQEs
   * taken.
   */
  requestNotify(solicitedOnly: boolean, clearPending: boolean, consumed: number): void {
    if (clearPending) this.#clearPending();
    this.owner.timeline?.note(Step.ARM, this.owner.number, this.number, consumed, solicitedOnly ? 1 : 0);
    // A stronger outstanding request stays: arming for solicited completions does not weaken arming
    // for all (IBTA 11.4.2.2).
    if (!solicitedOnly) this.notifyState = NotifyState.ARMED_ALL;
    else if (this.notifyState !== NotifyState.ARMED_ALL) this.notifyState = NotifyState.ARMED_SOLICITED;
    this.#requested = consumed;
    this.offerDue(EventCause.ARMING);
  }

  /**
   * Clears EQ pending, and posts the event that waited for it. Unlike `requestNotify` it leaves
   * arming to software that may not clear the bit.
   */
  clearPending(): void {
    this.#clearPending();
    this.offerDue(EventCause.CLEARING);
  }

  /** Posts the event, or lets it wait, if one is due. `cause`: why it is due now. */
  offerDue(cause: EventCause): void {
    if (this.#isDue()) this.#offerEvent(cause);
  }

  postHeld(cause: EventCause): void {
    if (this.#isDue()) this.#fireEvent(cause);
  }

  /** Reads the consumer count; returns how many CQEs are unread. */
  countUnread(): number {
    this.#refreshConsumed();
    return this.#unread();
  }

  /**
   * Moves to a ring of another size that holds the unread CQEs; running numbers go on
   * (IBTA 11.2.5.3). `move` copies some in each call, those that are posted meanwhile too; software
   * does not poll. Fails, with nothing changed, when a ring cannot be read or written.
   */
  resize(move: EntryMove, memory: QueueMemory, entries: number): StepResult {
    const moved = move.step(this.owner.dma, this, this.consumed, this.#unread());
    if (moved !== 'done') return moved;
    // The sequence number of the last CQE before the count wraps is 0, as in a slot that was never
    // filled. In the new ring an empty slot must not look like that CQE.
    if ((LAST_COUNT - this.producerCount) >>> 0 < entries - this.#unread()) {
      entry.clear();
      setCompletionEntrySequence(entry.view, 0, LAST_COUNT);
      const dma = memory.at(this.owner.dma, (LAST_COUNT % entries) * COMPLETION_ENTRY_SIZE);
      if (!dma.writeBlock(this, entry, 0, COMPLETION_ENTRY_SIZE)) return 'failed';
    }
    this.owner.translations.give(this.translationEntries);
    this.memory = memory;
    this.#base = memory.packedBase;
    this.entries = compact(entries);
    return 'done';
  }

  /** Takes the queue off its event queue, which no longer counts its pending bit. */
  detach(): void {
    this.#clearPending();
    this.moderation?.release(this);
    if (this.eventQueue !== undefined) this.eventQueue.references--;
    this.eventQueue = undefined;
  }

  /** True when the queue is armed and a CQE that satisfies the request has not been taken. */
  #isDue(): boolean {
    if (this.notifyState !== NotifyState.ARMED_ALL && this.notifyState !== NotifyState.ARMED_SOLICITED) return false;
    const latest = this.notifyState === NotifyState.ARMED_ALL ? this.producerCount : this.#solicitedCount;
    return ((latest - this.#requested) | 0) > 0;
  }

  /** Posts the completion event, unless moderation lets it wait. */
  #offerEvent(cause: EventCause): void {
    const unseen = (this.producerCount - this.#requested) >>> 0;
    if (this.moderation === undefined || this.eqPending || !this.moderation.holds(this, unseen)) this.#fireEvent(cause);
    else if (this.owner.timeline !== undefined) this.#noteNoEvent(NoEvent.MODERATED);
  }

  /** Posts the completion event and sets EQ pending, if that bit is clear. */
  #fireEvent(cause: EventCause): void {
    if (this.eqPending || this.eventQueue === undefined) {
      if (this.owner.timeline !== undefined) this.#noteNoEvent(this.eqPending ? NoEvent.PENDING : NoEvent.NO_QUEUE);
      return;
    }
    event.type = EventType.COMPLETION;
    event.objectNumber = this.number;
    event.completionSequence = this.producerCount;
    event.tokenLow = this.tokenLow;
    event.tokenHigh = this.tokenHigh;
    event.cause = cause;
    if (!this.eventQueue.postCompletion(event, this.summaryIndex)) return this.#noteNoEvent(NoEvent.QUEUE_FAILED);
    this.notifyState = NotifyState.TRIGGERED;
    this.eqPending = true;
  }

  #noteNoEvent(reason: NoEvent): void {
    this.owner.timeline?.note(Step.NO_EVENT, this.owner.number, this.number, this.producerCount, reason);
  }

  /** Clears EQ pending. Clearing a clear bit changes nothing. */
  #clearPending(): void {
    if (!this.eqPending) return;
    this.eqPending = false;
    this.eventQueue?.takeCompletion();
  }

  /**
   * True when the queue is full. The consumer count in guest memory is read only when the known
   * count makes it look full.
   */
  #full(): boolean {
    if (this.#unread() < this.entries) return false;
    // An impossible count may have been read half-written: the second read decides.
    if (!this.#refreshConsumed()) this.#refreshConsumed();
    return this.#unread() >= this.entries;
  }

  /**
   * Reads the consumer count. Returns false when software cannot have reached that count; the known
   * one then stays.
   */
  #refreshConsumed(): boolean {
    const dma = this.owner.dma.at(this.recordAddress);
    if (!dma.read(this, COMPLETION_QUEUE_RECORD_SIZE, record.bytes, 0)) return true;
    const consumed = getCompletionQueueRecordConsumed(record.view, 0);
    if ((this.producerCount - consumed) >>> 0 > this.entries) return false;
    this.consumed = consumed;
    return true;
  }

  #unread(): number {
    return (this.producerCount - this.consumed) >>> 0;
  }

  #fail(fault: FaultKind): boolean {
    this.error = true;
    if (fault === FaultKind.CQ_OVERRUN) this.owner.faults.report(fault, this, this.producerCount);
    this.owner.completionQueueFailed(this, fault);
    return false;
  }
}
