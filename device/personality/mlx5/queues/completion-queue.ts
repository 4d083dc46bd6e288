// SPDX-License-Identifier: Apache-2.0
/**
 * A completion queue: a ring of entries of 64 or 128 bytes in pages that a command listed, an owner
 * bit in each, and a doorbell record with software's consumer index. Software arms it by its UAR
 * page for one event (IBTA 11.4.2). A full queue goes into error, and no entry is overwritten,
 * unless software allows it. `CompletionEncoder` fills entries.
 */
import { FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { getCqRecordConsumerIndex } from '../../../../protocol/mlx5/gen/cq-record.gen.ts';
import { type Cqc, encodeCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import {
  CQE_SIZE,
  getCqeQpn,
  setCqeOpcode,
  setCqeOwner,
  setCqeTimestamp,
} from '../../../../protocol/mlx5/gen/cqe.gen.ts';
import {
  ArmState,
  CommandStatus,
  CompletionOpcode,
  CqErrorSyndrome,
  CqeSize,
  QueueStatus,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { EventCause, NoEvent } from '../../../hca/function/timeline-values.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { noteCompletion } from '../../../hca/queues/completion-port.ts';
import { CompletionTimes } from '../../../hca/queues/completion-times.ts';
import type { EventModeration, ModeratedQueue } from '../../../hca/queues/event-moderation.ts';
import type { PlantedFaults } from '../../shared/planted-faults.ts';
import type { PageList } from '../memory/page-list.ts';
import type { CompletionSource, EventQueue } from './event-queue.ts';

/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;
/** Software counts entries in 24 bits. */
const INDEX_MASK = 0xffffff;
/** No arm sequence: they have two bits. */
const NONE = -1;
const NS_PER_US = 1000;
/** Bytes of the doorbell record that the device reads. */
const RECORD_BYTES = 4;

/** Work space of all queues: an entry is posted as soon as it is filled. */
const paddedEntry = new Uint8Array(2 * CQE_SIZE);
const entry = paddedEntry.subarray(CQE_SIZE);
const entryView = new DataView(paddedEntry.buffer, CQE_SIZE);
const record = new Uint8Array(RECORD_BYTES);
const recordView = new DataView(record.buffer);

/** Parts of the device that CQs share. */
interface CompletionParts {
  readonly underlying: UnderlyingFunction;
  /** The clock of the timer that software reads in the initialising segment. */
  readonly clock: { now(): number };
  readonly moderation: EventModeration;
  readonly planted: PlantedFaults;
  readonly events: { postCompletionError(cqn: number, syndrome: CqErrorSyndrome): void };
}

/** Where the entries lie: a checked list of pages, and the fields that describe it. */
interface CompletionPlace extends Pick<Cqc, 'logCqSize' | 'logPageSize' | 'pageOffset'> {
  readonly pages: PageList;
}

export class Mlx5CompletionQueue implements FaultSubject, CompletionSource, ModeratedQueue {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly faultObject = FaultObject.CQ;
  readonly context: Cqc;
  /** Work queues that complete on it. */
  users = 0;
  /** Entries posted so far, and those that software is known to have taken, modulo 2^32. */
  producerCount = 0;
  consumed = 0;
  eventIndex: number | undefined = undefined;
  /** Undefined: each event is posted at once. */
  completionTimes: CompletionTimes | undefined = undefined;
  moderationCount = 0;
  moderationNs = 0;
  heldUntilNs = Number.POSITIVE_INFINITY;
  heldAt = 0;
  readonly #parts: CompletionParts;
  readonly #entryBytes: number;
  /** What is written of an entry: its end, or with the padding all of it. */
  readonly #written: Uint8Array;
  #eventQueue: EventQueue;
  #pages: PageList;
  #entries: number;
  /** Producer count behind the last solicited entry. */
  #solicitedCount = 0;
  /** Entries that software had taken at its last request for an event. */
  #requested = 0;
  /** Sequences of that request, and of the last one that was served. */
  #armSequence = NONE;
  #servedSequence = NONE;
  /** Producer count at the last event. */
  #notifiedCount = 0;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<Cqc>, pages: PageList, eventQueue: EventQueue, parts: CompletionParts) {
    this.number = number;
    this.owner = parts.underlying;
    this.context = { ...context, status: QueueStatus.OK, st: ArmState.FIRED };
    this.#parts = parts;
    this.#entryBytes = entryBytesOf(context.cqeSz);
    this.#written = context.cqeSz === CqeSize.BYTES_128_PADDED ? paddedEntry : entry;
    this.#eventQueue = eventQueue;
    this.#pages = pages;
    this.#entries = 2 ** context.logCqSize;
    eventQueue.users++;
    this.moderate(context.cqPeriod, context.cqMaxCount);
    this.owner.timeline?.note(Step.CQ_BEGIN, this.owner.number, number);
  }

  get eventQueue(): EventQueue {
    return this.#eventQueue;
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView, base: number): void {
    if (this.context.status === QueueStatus.OK) this.#readConsumer();
    encodeCqc(view, base, {
      ...this.context,
      cEqnOrApuElement: this.#eventQueue.number,
      lastNotifiedIndex: this.#notifiedCount,
      lastSolicitIndex: this.#solicitedCount,
      consumerCounter: this.consumed,
      producerCounter: this.producerCount,
    });
  }

  /** The entry in hand, zeros: a caller fills it in, but for the owner bit, and posts it. */
  begin(): DataView {
    entry.fill(0);
    return entryView;
  }

  /** Writes the time into the entry in hand. One of an error has the syndrome in its place. */
  stamp(): void {
    setCqeTimestamp(entryView, 0, this.#parts.clock.now());
  }

  /**
   * Posts the entry in hand. `solicited`: it also serves a request for solicited entries, as errors
   * do. `work`: the entry of the transport, for the timeline. Returns false when the queue is in
   * error.
   */
  post(solicited: boolean, work?: DataView): boolean {
    const { planted, moderation } = this.#parts;
    if (this.context.status !== QueueStatus.OK) return false;
    if (planted.completions !== 0 && planted.takesCompletion(getCqeQpn(entryView, 0))) return true;
    if (this.context.oi === 0 && this.#isFull()) return this.#fail(QueueStatus.OVERFLOW, CqErrorSyndrome.OVERRUN);
    if (!this.#write()) return false;
    if (this.completionTimes !== undefined) moderation.noteCompletion(this);
    this.producerCount = (this.producerCount + 1) >>> 0;
    if (solicited) this.#solicitedCount = this.producerCount;
    const { timeline } = this.owner;
    if (timeline !== undefined && work !== undefined) noteCompletion(this.owner, work, this.number, this.producerCount);
    const { st } = this.context;
    if (st === ArmState.ARMED || (solicited && st === ArmState.SOLICITED_ARMED))
      this.#offerEvent(EventCause.COMPLETION);
    else if (timeline !== undefined) this.#noteNoEvent(this.#quietReason());
    return true;
  }

  /**
   * A request for one event. `consumerIndex`: entries that software has taken, in 24 bits. A
   * request that repeats the sequence of one that was served is an old one: software has not seen
   * the event yet.
   */
  requestNotify(solicitedOnly: boolean, sequence: number, consumerIndex: number): void {
    if (sequence === this.#servedSequence) return;
    this.owner.timeline?.note(Step.ARM, this.owner.number, this.number, consumerIndex, solicitedOnly ? 1 : 0);
    this.#armSequence = sequence;
    const { context } = this;
    // A request for any entry is not weakened by one for solicited entries (IBTA 11.4.2.2).
    if (!solicitedOnly) context.st = ArmState.ARMED;
    else if (context.st !== ArmState.ARMED) context.st = ArmState.SOLICITED_ARMED;
    this.#requested = (this.producerCount - signed24(this.producerCount - consumerIndex)) >>> 0;
    this.#offerDue(EventCause.ARMING);
  }

  postHeld(cause: EventCause): void {
    if (this.#isDue()) this.#fireEvent(cause);
  }

  /**
   * Lets an event wait for `count` completions, or `periodUs` after the first of them; 0 for either
   * lets none wait.
   */
  moderate(periodUs: number, count: number): void {
    const isModerated = periodUs > 0 && count > 0;
    Object.assign(this.context, { cqPeriod: periodUs, cqMaxCount: count });
    this.#parts.moderation.release(this);
    this.completionTimes = isModerated ? (this.completionTimes ?? new CompletionTimes()) : undefined;
    this.moderationCount = count;
    this.moderationNs = periodUs * NS_PER_US;
    this.#offerDue(EventCause.CHANGE);
  }

  /** Sends its events to another EQ, with the one that waits in the old EQ. */
  moveEvents(eventQueue: EventQueue): void {
    if (eventQueue === this.#eventQueue) return;
    const waits = this.#eventQueue.forget(this);
    this.#eventQueue.users--;
    eventQueue.users++;
    this.#eventQueue = eventQueue;
    this.eventIndex = undefined;
    if (waits) eventQueue.postCompletion(this, EventCause.CHANGE);
  }

  /**
   * Goes on in another place. The last entry in the old one says so and takes a number: software
   * copies the entries that it has not taken, moved by one. A refusal changes nothing, except that
   * a queue fails whose last entry cannot be written.
   */
  resize({ pages, ...place }: CompletionPlace): CommandStatus {
    const { context } = this;
    if (context.status !== QueueStatus.OK) return CommandStatus.BAD_RESOURCE_STATE;
    this.#readConsumer();
    const waiting = (this.producerCount - this.consumed) >>> 0;
    if (waiting >= this.#entries || waiting > 2 ** place.logCqSize) return CommandStatus.BAD_SIZE;
    setCqeOpcode(this.begin(), 0, CompletionOpcode.RESIZE);
    if (!this.#write()) return CommandStatus.BAD_RESOURCE_STATE;
    this.#countResize();
    Object.assign(context, place);
    this.#pages = pages;
    this.#entries = 2 ** place.logCqSize;
    return CommandStatus.OK;
  }

  /** The queue goes away. */
  close(): void {
    this.#parts.moderation.release(this);
    this.#eventQueue.forget(this);
    this.#eventQueue.users--;
  }

  /** All entries before the one of a resizing get the number behind their own. */
  #countResize(): void {
    this.producerCount = (this.producerCount + 1) >>> 0;
    this.#solicitedCount = (this.#solicitedCount + 1) >>> 0;
    this.#requested = (this.#requested + 1) >>> 0;
    // Times go by the old numbers: the entries so far wait no longer.
    if (this.completionTimes !== undefined) this.completionTimes = new CompletionTimes();
  }

  /** Writes the entry in hand as the next one. */
  #write(): boolean {
    setCqeOwner(entryView, 0, (this.producerCount >>> this.context.logCqSize) & 1);
    const index = this.producerCount & (this.#entries - 1);
    const { length } = this.#written;
    const { dma } = this.owner;
    this.#pages.locate(dma, (index + 1) * this.#entryBytes - length, length);
    if (dma.publish(this, this.#written, length, OWNER_BYTES)) return true;
    return this.#fail(QueueStatus.WRITE_FAILURE, CqErrorSyndrome.ACCESS);
  }

  /** The record is read only when the known index makes the queue look full. */
  #isFull(): boolean {
    if ((this.producerCount - this.consumed) >>> 0 < this.#entries) return false;
    this.#readConsumer();
    return (this.producerCount - this.consumed) >>> 0 >= this.#entries;
  }

  /** An index that is not among the entries that software may take is ignored. */
  #readConsumer(): void {
    if (!this.owner.dma.at(this.context.dbrAddr).read(this, RECORD_BYTES, record, 0)) return;
    const waiting = (this.producerCount - getCqRecordConsumerIndex(recordView, 0)) & INDEX_MASK;
    if (waiting <= (this.producerCount - this.consumed) >>> 0) this.consumed = (this.producerCount - waiting) >>> 0;
  }

  /** True when the queue is armed and an entry that serves the request has not been taken. */
  #isDue(): boolean {
    const { st } = this.context;
    if (st === ArmState.FIRED) return false;
    const latest = st === ArmState.ARMED ? this.producerCount : this.#solicitedCount;
    return ((latest - this.#requested) | 0) > 0;
  }

  #offerDue(cause: EventCause): void {
    if (this.#isDue()) this.#offerEvent(cause);
  }

  /** Posts the event, unless moderation lets it wait. */
  #offerEvent(cause: EventCause): void {
    const unseen = (this.producerCount - this.#requested) >>> 0;
    if (this.completionTimes === undefined || !this.#parts.moderation.holds(this, unseen)) this.#fireEvent(cause);
    else if (this.owner.timeline !== undefined) this.#noteNoEvent(NoEvent.MODERATED);
  }

  #fireEvent(cause: EventCause): void {
    this.context.st = ArmState.FIRED;
    this.#servedSequence = this.#armSequence;
    this.#notifiedCount = this.producerCount;
    if (!this.#eventQueue.postCompletion(this, cause)) this.#noteNoEvent(NoEvent.QUEUE_FAILED);
  }

  /** Why an entry causes no event, by what software has asked for. */
  #quietReason(): NoEvent {
    if (this.context.st === ArmState.SOLICITED_ARMED) return NoEvent.SOLICITED_ONLY;
    return this.#servedSequence === NONE ? NoEvent.UNARMED : NoEvent.TRIGGERED;
  }

  #noteNoEvent(reason: NoEvent): void {
    this.owner.timeline?.note(Step.NO_EVENT, this.owner.number, this.number, this.producerCount, reason);
  }

  /** The queue takes no more entries. */
  #fail(status: QueueStatus, syndrome: CqErrorSyndrome): boolean {
    this.context.status = status;
    // What could not be written has been reported already.
    if (status === QueueStatus.OVERFLOW) this.owner.faults.report(FaultKind.CQ_OVERRUN, this, this.#pages.addressOf(0));
    this.#parts.events.postCompletionError(this.number, syndrome);
    return false;
  }
}

/** Bytes of an entry by the code of a context. */
export function entryBytesOf(cqeSz: number): number {
  return cqeSz === CqeSize.BYTES_64 ? CQE_SIZE : 2 * CQE_SIZE;
}

/** The 24 bits of a difference of counts as a signed number. */
function signed24(difference: number): number {
  return (difference << 8) >> 8;
}
