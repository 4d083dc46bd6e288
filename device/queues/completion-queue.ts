// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queue: a ring of 64-byte entries in guest memory, and the rule that it posts at most one event until software re-enables it
 * (IBTA 11.4.2; EQ pending of IPCOM000126453D). A full queue goes into error, once, and is never overwritten.
 */
import {
  COMPLETION_ENTRY_SEQUENCE_BYTES,
  COMPLETION_ENTRY_SIZE,
  setCompletionEntrySequence,
  setCompletionEntryTimestampHigh,
  setCompletionEntryTimestampLow,
} from '../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  getCompletionQueueRecordConsumed,
} from '../../protocol/layout/gen/completion-queue-record.gen.ts';
import { ENTRY_SEQUENCE_FIRST, PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { EventType, FaultKind, NotifyState } from '../../protocol/layout/gen/values.gen.ts';
import type { EventQueue } from '../events/event-queue.ts';
import { EventRecord } from '../function/event-record.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';

const SEQUENCE_BYTES = COMPLETION_ENTRY_SEQUENCE_BYTES;
/** Entries copied at once when a queue is resized: a page of them. */
const RESIZE_ENTRIES = PAGE_BYTES / COMPLETION_ENTRY_SIZE;

/** Producer count before it wraps. */
const LAST_COUNT = 2 ** 32 - 1;

/** Work space of all queues: an entry is posted as soon as it is filled, and a queue with buffers of its own would be spread over more memory. */
const entry = new Uint8Array(COMPLETION_ENTRY_SIZE);
const entryView = new DataView(entry.buffer);
const record = new Uint8Array(COMPLETION_QUEUE_RECORD_SIZE);
const recordView = new DataView(record.buffer);
const event = new EventRecord();

/** Fields are in the order of use: what every completion needs comes first. */
export class CompletionQueue {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  error = false;
  entries: number;
  producerCount = 0;
  /** Consumer count as last read from the record. */
  consumed = 0;
  memory: QueueMemory;
  notifyState: NotifyState = NotifyState.UNARMED;
  /** Producer count just after the last solicited or failed completion. */
  #solicitedCount = 0;
  eqPending = false;
  eventQueue: EventQueue | undefined = undefined;
  readonly recordAddress: number;
  /** Secondary summary byte that stands for this queue. */
  summaryIndex = 0;
  tokenLow = 0;
  tokenHigh = 0;
  /** Work queues that complete here. */
  references = 0;

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
    this.recordAddress = recordAddress;
    this.entries = 2 ** entriesLog2;
  }

  /** An empty entry: fill it through the generated setters, then `post`. */
  begin(): DataView {
    entry.fill(0);
    return entryView;
  }

  /** Stores the entry. `solicited`: it also counts for those who wait for solicited completions. False when the queue is in error. */
  post(solicited: boolean): boolean {
    if (this.error) {
      this.owner.faults.report(FaultKind.CQ_ERROR, this.number, 0);
      return false;
    }
    if (this.#full()) return this.#fail(FaultKind.CQ_OVERRUN);
    const time = this.owner.localTime;
    time.sample();
    setCompletionEntryTimestampLow(entryView, 0, time.low);
    setCompletionEntryTimestampHigh(entryView, 0, time.high);
    setCompletionEntrySequence(entryView, 0, (this.producerCount + ENTRY_SEQUENCE_FIRST) >>> 0);
    const address = this.memory.addressOf((this.producerCount % this.entries) * COMPLETION_ENTRY_SIZE);
    if (!this.owner.dma.publish(this.number, address, entry, COMPLETION_ENTRY_SIZE, SEQUENCE_BYTES))
      return this.#fail(FaultKind.DMA_WRITE);
    this.producerCount = (this.producerCount + 1) >>> 0;
    if (solicited) this.#solicitedCount = this.producerCount;
    if (this.notifyState === NotifyState.ARMED_ALL || (solicited && this.notifyState === NotifyState.ARMED_SOLICITED))
      this.#fireEvent();
    return true;
  }

  /** Software asks for an event, having consumed `consumed` entries (cq-notify). */
  requestNotify(solicitedOnly: boolean, clearPending: boolean, consumed: number): void {
    if (clearPending) this.#clearPending();
    // A stronger request already outstanding stays: arming for solicited does not weaken arming for all (IBTA 11.4.2.2).
    if (!solicitedOnly) this.notifyState = NotifyState.ARMED_ALL;
    else if (this.notifyState !== NotifyState.ARMED_ALL) this.notifyState = NotifyState.ARMED_SOLICITED;
    const latest = this.notifyState === NotifyState.ARMED_ALL ? this.producerCount : this.#solicitedCount;
    if (((latest - consumed) | 0) > 0) this.#fireEvent();
  }

  /** Entries posted and not yet taken by software, its consumer count read anew. */
  countUnread(): number {
    this.#refreshConsumed();
    return this.#unread();
  }

  /**
   * Moves to a ring of another size, which holds the unread entries; running numbers go on (IBTA 11.2.5.3). Software does not poll meanwhile.
   * False, with nothing changed, when a ring cannot be read or written.
   */
  resize(memory: QueueMemory, entriesLog2: number): boolean {
    const entries = 2 ** entriesLog2;
    const chunk = new Uint8Array(RESIZE_ENTRIES * COMPLETION_ENTRY_SIZE);
    for (let at = this.consumed; at !== this.producerCount; ) {
      // Runs that end at a multiple of a page's entries, and with the ring: in one piece in both rings.
      const run = Math.min(
        RESIZE_ENTRIES - (at % RESIZE_ENTRIES),
        this.entries - (at % this.entries),
        entries - (at % entries),
        (this.producerCount - at) >>> 0,
      );
      const bytes = run * COMPLETION_ENTRY_SIZE;
      const source = this.memory.addressOf((at % this.entries) * COMPLETION_ENTRY_SIZE);
      const target = memory.addressOf((at % entries) * COMPLETION_ENTRY_SIZE);
      const { dma } = this.owner;
      if (!dma.read(this.number, source, bytes, chunk, 0) || !dma.write(this.number, target, chunk, 0, bytes))
        return false;
      at = (at + run) >>> 0;
    }
    // The last number before the count wraps is 0, as in a slot that was never filled: in the new ring that slot must not look like its entry.
    if ((LAST_COUNT - this.producerCount) >>> 0 < entries - this.#unread() && !this.#blank(memory, entries))
      return false;
    this.memory = memory;
    this.entries = entries;
    return true;
  }

  /** Gives the slot of `LAST_COUNT` a number that is not its own. */
  #blank(memory: QueueMemory, entries: number): boolean {
    entry.fill(0);
    setCompletionEntrySequence(entryView, 0, LAST_COUNT);
    const address = memory.addressOf((LAST_COUNT % entries) * COMPLETION_ENTRY_SIZE);
    return this.owner.dma.write(this.number, address, entry, 0, COMPLETION_ENTRY_SIZE);
  }

  /** The queue is going away: its pending bit no longer counts. */
  detach(): void {
    this.#clearPending();
    if (this.eventQueue !== undefined) this.eventQueue.references--;
    this.eventQueue = undefined;
  }

  #fireEvent(): void {
    if (this.eqPending || this.eventQueue === undefined) return;
    event.type = EventType.COMPLETION;
    event.objectNumber = this.number;
    event.completionSequence = this.producerCount;
    event.tokenLow = this.tokenLow;
    event.tokenHigh = this.tokenHigh;
    if (!this.eventQueue.postCompletion(event, this.summaryIndex)) return;
    this.notifyState = NotifyState.TRIGGERED;
    this.eqPending = true;
  }

  /** Clearing a clear bit changes nothing. */
  #clearPending(): void {
    if (!this.eqPending) return;
    this.eqPending = false;
    this.eventQueue?.takeCompletion();
  }

  /** The consumer count in guest memory is read only when the queue looks full. */
  #full(): boolean {
    if (this.#unread() < this.entries) return false;
    // A count that cannot be true may have been caught half-written: the second look decides.
    if (!this.#refreshConsumed()) this.#refreshConsumed();
    return this.#unread() >= this.entries;
  }

  /** False when the count was read and is not one that software can have come to; what is known stays then. */
  #refreshConsumed(): boolean {
    if (!this.owner.dma.read(this.number, this.recordAddress, COMPLETION_QUEUE_RECORD_SIZE, record, 0)) return true;
    const consumed = getCompletionQueueRecordConsumed(recordView, 0);
    if ((this.producerCount - consumed) >>> 0 > this.entries) return false;
    this.consumed = consumed;
    return true;
  }

  #unread(): number {
    return (this.producerCount - this.consumed) >>> 0;
  }

  #fail(fault: FaultKind): boolean {
    this.error = true;
    if (fault === FaultKind.CQ_OVERRUN) this.owner.faults.report(fault, this.number, this.producerCount);
    this.owner.completionQueueFailed(this, fault);
    return false;
  }
}
