// SPDX-License-Identifier: Apache-2.0
/**
 * A completion queue: a ring of 32-byte entries in a memory region, an owner bit in each, and a
 * doorbell record with software's consumer index. Software arms it by doorbell for one event
 * (IBTA 11.4.2). A full queue goes into error, and no entry is overwritten. `CompletionEncoder` and
 * `RawQueuePairs` fill entries.
 */
import { FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { getCompletionQpn } from '../../../../protocol/mthca/gen/completion.gen.ts';
import { COMPLETION_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { type CqContext, encodeCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import type { CqResizing } from '../../../../protocol/mthca/gen/cq-resizing.gen.ts';
import {
  ContextOwner,
  ContextStatus,
  CqDoorbellCommand,
  CqErrorSyndrome,
  NotificationState,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { EventCause, NoEvent } from '../../../hca/function/timeline-values.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { noteCompletion } from '../../../hca/queues/completion-port.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import type { PlantedFaults } from '../../shared/planted-faults.ts';
import type { DoorbellRecords } from '../memory/doorbell-records.ts';
import type { MemoryRegions } from '../memory/memory-regions.ts';
import type { CompletionSource, MthcaEventQueue } from './event-queue.ts';

/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;
/** No arm sequence: they have two bits. */
const NONE = -1;

/** Why an entry causes no event, by what software has asked for. */
const reasons: ReadonlyMap<number, NoEvent> = new Map<number, NoEvent>([
  [NotificationState.DISARMED, NoEvent.UNARMED],
  [NotificationState.FIRED, NoEvent.TRIGGERED],
  [NotificationState.ARMED_SOLICITED, NoEvent.SOLICITED_ONLY],
]);

/** Parts of the device that a CQ needs. */
interface CompletionParts {
  readonly underlying: UnderlyingFunction;
  readonly regions: MemoryRegions;
  readonly records: DoorbellRecords;
  readonly planted: PlantedFaults;
  /** The EQ of its completion events. */
  readonly eventQueue: MthcaEventQueue;
  /** Reports that the queue has failed. */
  postError(cqn: number, syndrome: CqErrorSyndrome): void;
}

export class MthcaCompletionQueue implements FaultSubject, CompletionSource {
  readonly number: number;
  readonly faultObject = FaultObject.CQ;
  readonly context: CqContext;
  /** QPs that complete on it, once for each queue. */
  users = 0;
  eventIndex: number | undefined = undefined;
  readonly #parts: CompletionParts;
  /** Size of the buffer: 2^n entries, and the bits of an index in it. */
  #entries: number;
  #mask: number;
  /** Producer index behind the last solicited entry. */
  #solicitedIndex = 0;
  /** Sequences of the outstanding request for an event, and of the last one that was served. */
  #armSequence = NONE;
  #servedSequence = NONE;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<CqContext>, parts: CompletionParts) {
    this.number = number;
    this.context = {
      ...context,
      cqn: number,
      status: ContextStatus.OK,
      notification: NotificationState.DISARMED,
      consumerIndex: 0,
      producerIndex: 0,
    };
    this.#parts = parts;
    this.#entries = 2 ** context.logEntries;
    this.#mask = this.#entries - 1;
    const { underlying } = parts;
    underlying.timeline?.note(Step.CQ_BEGIN, underlying.number, number);
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView): void {
    encodeCqContext(view, 0, { ...this.context, owner: ContextOwner.HARDWARE });
  }

  /** Entries posted so far, modulo 2^32. */
  get count(): number {
    return this.context.producerIndex;
  }

  /**
   * Writes an entry, whose owner bit is clear. `solicited`: it also serves a request for solicited
   * entries, as errors do. `work`: the entry of the transport, for the timeline. Returns false when
   * the queue is in error.
   */
  post(entry: Uint8Array, solicited: boolean, work?: DataView): boolean {
    const { context } = this;
    const { regions, underlying, planted } = this.#parts;
    if (context.status !== ContextStatus.OK) return false;
    if (planted.completions !== 0 && planted.takesCompletion(qpnOf(entry))) return true;
    if (this.#isFull() && context.ignoreOverrun === 0)
      return this.#fail(ContextStatus.OVERFLOW, CqErrorSyndrome.OVERRUN, FaultKind.CQ_OVERRUN);
    const start = context.start + (context.producerIndex & this.#mask) * COMPLETION_BYTES;
    const { key, pd } = context;
    const fault = regions.translate(key, pd, KeyRight.LOCAL_WRITE, start, COMPLETION_BYTES, this);
    if (fault !== FaultKind.NONE)
      return this.#fail(ContextStatus.WRITE_FAILURE, CqErrorSyndrome.ACCESS_VIOLATION, fault);
    if (!underlying.dma.at(regions.address).publish(this, entry, COMPLETION_BYTES, OWNER_BYTES))
      return this.#fail(ContextStatus.WRITE_FAILURE, CqErrorSyndrome.ACCESS_VIOLATION, FaultKind.NONE);
    context.producerIndex = (context.producerIndex + 1) >>> 0;
    if (solicited) this.#solicitedIndex = context.producerIndex;
    if (underlying.timeline !== undefined && work !== undefined)
      noteCompletion(underlying, work, this.number, this.count);
    const { notification } = context;
    if (notification === NotificationState.ARMED || (solicited && notification === NotificationState.ARMED_SOLICITED))
      this.#fire(EventCause.COMPLETION);
    else if (underlying.timeline !== undefined) this.#noteNoEvent();
    return true;
  }

  /**
   * A request for one event (CQ doorbell). `consumerIndex`: entries that software has taken. A
   * request that repeats the sequence of one that was served is an old one.
   */
  requestNotify(command: number, sequence: number, consumerIndex: number): void {
    const { context } = this;
    const { underlying } = this.#parts;
    if (sequence === this.#servedSequence) return;
    const isSolicited = command === CqDoorbellCommand.NOTIFY_SOLICITED;
    underlying.timeline?.note(Step.ARM, underlying.number, this.number, consumerIndex, isSolicited ? 1 : 0);
    this.#armSequence = sequence;
    // A request for any entry is not weakened by one for solicited entries (IBTA 11.4.2.2).
    if (!isSolicited) context.notification = NotificationState.ARMED;
    else if (context.notification !== NotificationState.ARMED) context.notification = NotificationState.ARMED_SOLICITED;
    const isAny = context.notification === NotificationState.ARMED;
    const latest = isAny ? context.producerIndex : this.#solicitedIndex;
    if (((latest - consumerIndex) | 0) > 0) this.#fire(EventCause.ARMING);
  }

  /** True when the entries that software has not taken fit another size. */
  fits(logEntries: number): boolean {
    this.#readConsumer();
    return this.#pending() <= 2 ** logEntries;
  }

  /** Moves to another buffer; software copies the entries that it has not taken. */
  resize({ key, start, logEntries }: Readonly<CqResizing>): void {
    Object.assign(this.context, { key, start, logEntries });
    this.#entries = 2 ** logEntries;
    this.#mask = this.#entries - 1;
  }

  #pending(): number {
    return (this.context.producerIndex - this.context.consumerIndex) >>> 0;
  }

  /** The record is read only when the known index makes the queue look full. */
  #isFull(): boolean {
    if (this.#pending() < this.#entries) return false;
    this.#readConsumer();
    return this.#pending() >= this.#entries;
  }

  /** An index that software cannot have reached is ignored. */
  #readConsumer(): void {
    const { context } = this;
    const index = this.#parts.records.read(context.uar, context.consumerRecord, this);
    if (index === undefined || (context.producerIndex - index) >>> 0 > this.#entries) return;
    context.consumerIndex = index;
  }

  #fire(cause: EventCause): void {
    this.context.notification = NotificationState.FIRED;
    this.#servedSequence = this.#armSequence;
    this.#parts.eventQueue.postCompletion(this, cause);
  }

  #noteNoEvent(): void {
    const { underlying, eventQueue } = this.#parts;
    const reason = eventQueue.status === ContextStatus.OK ? reasons.get(this.context.notification) : undefined;
    underlying.timeline?.note(
      Step.NO_EVENT,
      underlying.number,
      this.number,
      this.count,
      reason ?? NoEvent.QUEUE_FAILED,
    );
  }

  /** The queue takes no more entries. `fault`: NONE when it has been reported already. */
  #fail(status: ContextStatus, syndrome: CqErrorSyndrome, fault: FaultKind): boolean {
    this.context.status = status;
    if (fault !== FaultKind.NONE) this.#parts.underlying.faults.report(fault, this, this.context.start);
    this.#parts.postError(this.number, syndrome);
    return false;
  }
}

function qpnOf(entry: Uint8Array): number {
  return getCompletionQpn(new DataView(entry.buffer, entry.byteOffset), 0);
}
