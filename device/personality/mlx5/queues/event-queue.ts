// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue: a ring of 64-byte entries in pages that a command listed, an owner bit in each,
 * and one MSI-X vector. Software tells its consumer index and arms the queue by its UAR page; an
 * armed queue interrupts for the next entry, and at once when it has entries that software has not
 * taken.
 */
import { FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { EVENT_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { setEqeOwner, setEqeSubType, setEqeType } from '../../../../protocol/mlx5/gen/eqe.gen.ts';
import { ArmState, type EventType, QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { Step } from '../../../hca/function/timeline.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { PageList } from '../memory/page-list.ts';

/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;
/** Consumer indices have 24 bits. */
const INDEX_MASK = 0xffffff;

/** What a command says of a queue. */
export interface EventQueuePlan {
  readonly number: number;
  readonly logEntries: number;
  readonly vector: number;
  readonly uar: number;
  /** Types of events that it takes: a bit for each, 0 to 63. */
  readonly mask: bigint;
  readonly mayOverrun: boolean;
}

export class EventQueue implements FaultSubject {
  readonly faultObject = FaultObject.EQ;
  readonly plan: EventQueuePlan;
  status: QueueStatus = QueueStatus.OK;
  armState: ArmState = ArmState.FIRED;
  /** Entries posted and taken so far, modulo 2^32. */
  producerIndex = 0;
  consumerIndex = 0;
  /** CQs that send their events here. */
  users = 0;
  readonly #owner: UnderlyingFunction;
  readonly #pages: PageList;
  readonly #entry = new Uint8Array(EVENT_BYTES);
  readonly #view = new DataView(this.#entry.buffer);

  constructor(plan: EventQueuePlan, owner: UnderlyingFunction, pages: PageList) {
    this.plan = plan;
    this.#owner = owner;
    this.#pages = pages;
    owner.timeline?.note(Step.EQ_BEGIN, owner.number, plan.number);
  }

  get number(): number {
    return this.plan.number;
  }

  get entries(): number {
    return 2 ** this.plan.logEntries;
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
    if (this.status !== QueueStatus.OK) return false;
    if (this.pendingEntries >= this.entries && !this.plan.mayOverrun)
      return this.#fail(QueueStatus.OVERFLOW, FaultKind.EQ_OVERRUN);
    const view = this.#view;
    setEqeType(view, 0, type);
    setEqeSubType(view, 0, subType);
    setEqeOwner(view, 0, (this.producerIndex >>> this.plan.logEntries) & 1);
    const at = this.#pages.addressOf((this.producerIndex % this.entries) * EVENT_BYTES);
    if (!this.#owner.dma.at(at).publish(this, this.#entry, EVENT_BYTES, OWNER_BYTES))
      return this.#fail(QueueStatus.WRITE_FAILURE, FaultKind.NONE);
    this.producerIndex = (this.producerIndex + 1) >>> 0;
    if (this.armState === ArmState.ARMED) this.#fire();
    return true;
  }

  /**
   * Software has taken the entries before `index`, which has 24 bits. One that is not among the
   * entries is ignored.
   */
  setConsumerIndex(index: number): void {
    const behind = (this.producerIndex - index) & INDEX_MASK;
    if (behind <= this.pendingEntries) this.consumerIndex = (this.producerIndex - behind) >>> 0;
  }

  arm(): void {
    this.armState = ArmState.ARMED;
    if (this.pendingEntries > 0) this.#fire();
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
    if (fault !== FaultKind.NONE) this.#owner.faults.report(fault, this, this.#pages.addressOf(0));
    return false;
  }
}
