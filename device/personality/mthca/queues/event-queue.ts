// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue: a ring of 32-byte entries in a memory region, an owner bit in each, and one
 * MSI-X vector. Software tells its consumer index and arms the queue by registers; an armed queue
 * interrupts for the next entry, and at once when it has entries that software has not taken.
 */
import { EventType, FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { EVENT_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { type EqContext, encodeEqContext } from '../../../../protocol/mthca/gen/eq-context.gen.ts';
import {
  OBJECT_EVENT_SIZE,
  setObjectEventKind,
  setObjectEventNumber,
} from '../../../../protocol/mthca/gen/object-event.gen.ts';
import {
  ContextOwner,
  ContextStatus,
  EventKind,
  NotificationState,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { EventCause } from '../../../hca/function/timeline-values.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import type { MemoryRegions } from '../memory/memory-regions.ts';

/** `interrupt` of a context is this plus the MSI-X vector. */
export const MSIX_INTERRUPT = 128;

/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;

/** A queue that raises completion events: at most one of each stands in the EQ. */
export interface CompletionSource {
  readonly number: number;
  /** Entries posted so far, modulo 2^32. */
  readonly count: number;
  /** Producer index of the EQ at its last event. */
  eventIndex: number | undefined;
}

export class MthcaEventQueue implements FaultSubject {
  readonly number: number;
  readonly faultObject = FaultObject.EQ;
  readonly #context: EqContext;
  readonly #owner: UnderlyingFunction;
  readonly #regions: MemoryRegions;
  readonly vector: number;
  readonly entries: number;
  readonly #completion = new Uint8Array(OBJECT_EVENT_SIZE);
  /** Queues that want another event while software has not taken their last one. */
  readonly #deferred = new Set<CompletionSource>();
  /** Source of the completion event in hand, for the timeline. */
  #cause: EventCause = EventCause.COMPLETION;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<EqContext>, owner: UnderlyingFunction, regions: MemoryRegions) {
    this.number = number;
    this.#context = { ...context, status: ContextStatus.OK, consumerIndex: 0, producerIndex: 0 };
    this.#owner = owner;
    this.#regions = regions;
    this.vector = context.interrupt - MSIX_INTERRUPT;
    this.entries = 2 ** context.logEntries;
    setObjectEventKind(new DataView(this.#completion.buffer), 0, EventKind.COMPLETION);
    owner.timeline?.note(Step.EQ_BEGIN, owner.number, number);
  }

  /** Entries posted so far, modulo 2^32. */
  get count(): number {
    return this.#context.producerIndex;
  }

  get status(): number {
    return this.#context.status;
  }

  get notification(): number {
    return this.#context.notification;
  }

  /** Entries that software has not taken. */
  get pendingEntries(): number {
    return (this.#context.producerIndex - this.#context.consumerIndex) >>> 0;
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView): void {
    encodeEqContext(view, 0, { ...this.#context, owner: ContextOwner.HARDWARE });
  }

  /**
   * Writes an event, whose owner bit is clear. `source`: of a completion event, for the timeline.
   * Returns false when it is lost.
   */
  post(event: Uint8Array, source?: CompletionSource): boolean {
    const context = this.#context;
    if (context.status !== ContextStatus.OK) return false;
    if (this.pendingEntries >= this.entries && context.ignoreOverrun === 0)
      return this.#fail(ContextStatus.OVERFLOW, FaultKind.EQ_OVERRUN);
    const start = context.start + (context.producerIndex % this.entries) * EVENT_BYTES;
    const regions = this.#regions;
    const fault = regions.translate(context.key, context.pd, KeyRight.LOCAL_WRITE, start, EVENT_BYTES, this);
    if (fault !== FaultKind.NONE) return this.#fail(ContextStatus.WRITE_FAILURE, fault);
    if (!this.#owner.dma.at(regions.address).publish(this, event, EVENT_BYTES, OWNER_BYTES))
      return this.#fail(ContextStatus.WRITE_FAILURE, FaultKind.NONE);
    context.producerIndex = (context.producerIndex + 1) >>> 0;
    if (this.#owner.timeline !== undefined && source !== undefined) this.#notePosted(source);
    if (context.notification === NotificationState.ARMED) this.#fire();
    return true;
  }

  /**
   * Posts the completion event of a queue. While its last event may be in the ring it waits: else a
   * process that arms again and again could overrun the queue for all others.
   */
  postCompletion(source: CompletionSource, cause: EventCause): void {
    if (this.#holds(source.eventIndex)) {
      this.#deferred.add(source);
      return;
    }
    source.eventIndex = this.#context.producerIndex;
    this.#cause = cause;
    setObjectEventNumber(new DataView(this.#completion.buffer), 0, source.number);
    this.post(this.#completion, source);
  }

  /** A queue is gone: it wants no event any more. */
  forget(source: CompletionSource): void {
    this.#deferred.delete(source);
  }

  /** Software has taken entries. An index behind the entries, or far before them, is ignored. */
  setConsumerIndex(index: number): void {
    const context = this.#context;
    if ((context.producerIndex - index) >>> 0 > this.entries) return;
    context.consumerIndex = index;
    for (const source of [...this.#deferred]) {
      if (this.#holds(source.eventIndex)) continue;
      this.#deferred.delete(source);
      this.postCompletion(source, EventCause.TAKING);
    }
  }

  arm(): void {
    if (this.pendingEntries > 0) this.#fire();
    else this.#context.notification = NotificationState.ARMED;
  }

  /** True when the entry of a producer index has not been taken. */
  #holds(index: number | undefined): boolean {
    if (index === undefined) return false;
    return (this.#context.producerIndex - index) >>> 0 <= this.pendingEntries && index !== this.#context.producerIndex;
  }

  #fire(): void {
    const { number, timeline, msix } = this.#owner;
    this.#context.notification = NotificationState.FIRED;
    timeline?.note(Step.INTERRUPT_REQUEST, number, this.vector, this.number, this.#context.producerIndex, 0);
    msix.request(this.vector);
  }

  /** The step of a completion event that was posted. */
  #notePosted({ number, count }: CompletionSource): void {
    const { number: own, timeline } = this.#owner;
    const { producerIndex } = this.#context;
    timeline?.note(Step.EQE, own, this.number, EventType.COMPLETION, number, count, producerIndex, this.#cause);
  }

  /** The queue takes no more events. `fault`: NONE when it has been reported already. */
  #fail(status: ContextStatus, fault: FaultKind): boolean {
    this.#context.status = status;
    if (fault !== FaultKind.NONE) this.#owner.faults.report(fault, this, this.#context.start);
    return false;
  }
}
