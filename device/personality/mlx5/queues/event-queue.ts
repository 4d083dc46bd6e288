// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue: a ring of 64-byte entries in pages that a command listed, an owner bit in each,
 * and one MSI-X vector. Software tells its consumer index and arms the queue by its UAR page; an
 * armed queue interrupts for the next entry, and at once when it has entries that software has not
 * taken. Completion events of CQs never overrun it: they wait for room.
 */
import { EventType as CoreEventType, FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { setCompletionEqeCqn } from '../../../../protocol/mlx5/gen/completion-eqe.gen.ts';
import { EVENT_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { setEqeOwner, setEqeSubType, setEqeType } from '../../../../protocol/mlx5/gen/eqe.gen.ts';
import { ArmState, EventType, QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { Step, type Timeline } from '../../../hca/function/timeline.ts';
import { EventCause } from '../../../hca/function/timeline-values.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { PageList } from '../memory/page-list.ts';

/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;
/** Consumer indices have 24 bits. */
const INDEX_MASK = 0xffffff;

/** What a command says of a queue. */
interface EventQueuePlan {
  readonly number: number;
  readonly logEntries: number;
  readonly vector: number;
  readonly uar: number;
  /** Types of events that it takes: a bit for each, 0 to 63. */
  readonly mask: bigint;
  readonly mayOverrun: boolean;
  /** Its place in the list of pages, as software described it. */
  readonly logPageSize: number;
  readonly pageOffset: number;
}

/** A CQ that raises completion events: at most one of each stands in the EQ. */
export interface CompletionSource {
  readonly number: number;
  /** Entries posted so far, modulo 2^32. */
  readonly producerCount: number;
  /** Producer index of the EQ at its last event. */
  eventIndex: number | undefined;
}

export class EventQueue implements FaultSubject {
  readonly faultObject = FaultObject.EQ;
  readonly plan: EventQueuePlan;
  readonly entries: number;
  status: QueueStatus = QueueStatus.OK;
  armState: ArmState = ArmState.FIRED;
  /** Entries posted and taken so far, modulo 2^32. */
  producerIndex = 0;
  consumerIndex = 0;
  /** Entries posted, and events that found no place. */
  posted = 0;
  lost = 0;
  /** CQs that send their events here. */
  users = 0;
  readonly #owner: UnderlyingFunction;
  readonly #pages: PageList;
  readonly #entry = new Uint8Array(EVENT_BYTES);
  readonly #view = new DataView(this.#entry.buffer);
  /** CQs whose event waits: for room, or until software has taken their last one. */
  readonly #waiting = new Set<CompletionSource>();

  constructor(plan: EventQueuePlan, owner: UnderlyingFunction, pages: PageList) {
    this.plan = plan;
    this.entries = 2 ** plan.logEntries;
    this.#owner = owner;
    this.#pages = pages;
    owner.timeline?.note(Step.EQ_BEGIN, owner.number, plan.number);
  }

  get number(): number {
    return this.plan.number;
  }

  /** Entries that software has not taken. */
  get pendingEntries(): number {
    return (this.producerIndex - this.consumerIndex) >>> 0;
  }

  takes(type: EventType): boolean {
    return ((this.plan.mask >> BigInt(type)) & 1n) === 1n;
  }

  /** The entry in hand, zeros: a caller fills in what the event is about, and posts it. */
  begin(): DataView {
    this.#entry.fill(0);
    return this.#view;
  }

  /** Posts the entry in hand. Returns false when it is lost. */
  post(type: EventType, subType = 0): boolean {
    if (!this.#write(type, subType)) return false;
    if (this.armState === ArmState.ARMED) this.#fire();
    return true;
  }

  /** Writes the entry in hand. Returns false when it is lost. */
  #write(type: EventType, subType: number): boolean {
    if (this.status !== QueueStatus.OK) {
      this.lost++;
      return false;
    }
    if (this.#isFull()) return this.#fail(QueueStatus.OVERFLOW, FaultKind.EQ_OVERRUN);
    const view = this.#view;
    setEqeType(view, 0, type);
    setEqeSubType(view, 0, subType);
    setEqeOwner(view, 0, (this.producerIndex >>> this.plan.logEntries) & 1);
    const { dma } = this.#owner;
    this.#pages.locate(dma, (this.producerIndex % this.entries) * EVENT_BYTES, EVENT_BYTES);
    if (!dma.publish(this, this.#entry, EVENT_BYTES, OWNER_BYTES))
      return this.#fail(QueueStatus.WRITE_FAILURE, FaultKind.NONE);
    this.producerIndex = (this.producerIndex + 1) >>> 0;
    this.posted++;
    return true;
  }

  /**
   * Posts the completion event of a CQ. While its last event may be in the ring it waits: else a
   * process that arms again and again could overrun the queue for all others. Returns false when
   * the event is lost.
   */
  postCompletion(source: CompletionSource, cause: EventCause): boolean {
    if (this.status !== QueueStatus.OK) return false;
    if (this.#isFull() || this.#holds(source.eventIndex)) {
      this.#waiting.add(source);
      return true;
    }
    source.eventIndex = this.producerIndex;
    setCompletionEqeCqn(this.begin(), 0, source.number);
    if (!this.#write(EventType.COMPLETION, 0)) return false;
    // The event stands in a timeline before its interrupt.
    const { timeline } = this.#owner;
    if (timeline !== undefined) this.#notePosted(timeline, source, cause);
    if (this.armState === ArmState.ARMED) this.#fire();
    return true;
  }

  /** A CQ wants no event here any more. Returns true when one has waited. */
  forget(source: CompletionSource): boolean {
    return this.#waiting.delete(source);
  }

  /**
   * Software has taken the entries before `index`, which has 24 bits. One that is not among the
   * entries is ignored.
   */
  setConsumerIndex(index: number): void {
    const behind = (this.producerIndex - index) & INDEX_MASK;
    if (behind > this.pendingEntries) return;
    this.consumerIndex = (this.producerIndex - behind) >>> 0;
    if (this.#waiting.size > 0) this.#postWaiting();
  }

  arm(): void {
    this.armState = ArmState.ARMED;
    if (this.pendingEntries > 0) this.#fire();
  }

  #isFull(): boolean {
    return this.pendingEntries >= this.entries && !this.plan.mayOverrun;
  }

  /** True when the entry of a producer index has not been taken. */
  #holds(index: number | undefined): boolean {
    if (index === undefined) return false;
    const behind = (this.producerIndex - index) >>> 0;
    return behind > 0 && behind <= this.pendingEntries;
  }

  /** Posts the events that may stand in the ring now, the longest waiting first. */
  #postWaiting(): void {
    for (const source of this.#waiting) {
      if (this.#isFull()) return;
      if (this.#holds(source.eventIndex)) continue;
      this.#waiting.delete(source);
      this.postCompletion(source, EventCause.TAKING);
    }
  }

  /** The step of a completion event that was posted. */
  #notePosted(timeline: Timeline, { number, producerCount }: CompletionSource, cause: EventCause): void {
    const { number: own } = this.#owner;
    const { producerIndex } = this;
    timeline.note(Step.EQE, own, this.number, CoreEventType.COMPLETION, number, producerCount, producerIndex, cause);
  }

  #fire(): void {
    const { number, timeline, msix } = this.#owner;
    const { vector } = this.plan;
    this.armState = ArmState.FIRED;
    timeline?.note(Step.INTERRUPT_REQUEST, number, vector, this.number, this.producerIndex, 0);
    msix.request(vector);
  }

  /** The queue takes no more events. `fault`: NONE when it has been reported already. */
  #fail(status: QueueStatus, fault: FaultKind): boolean {
    this.status = status;
    this.lost++;
    if (fault !== FaultKind.NONE) this.#owner.faults.report(fault, this, this.#pages.addressOf(0));
    return false;
  }
}
