// SPDX-License-Identifier: Apache-2.0
/**
 * A shared receive queue (IBTA 10.2.9) in any of its three forms: plain in the interface without
 * vports, receive memory pool in that with vports, and of XRC (annex A14), which has a CQ. Entries
 * are a list. Commands create, arm and query it; the transport takes its entries.
 */
import { FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { EventType } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { ProtectionDomain } from '../../../hca/protection/protection-domain.ts';
import type { XrcBinding, XrcReceiveSource } from '../../../hca/queues/xrc-domain.ts';
import { SharedReceiveRing } from '../../shared/shared-receive-ring.ts';
import { type QueueMemory, ReceiveCounter } from '../memory/queue-memory.ts';
import { linkedFormat } from './receive-requests.ts';

/** Place and size of the entries, the doorbell record, and where events go. */
interface SharedReceivePlan {
  readonly memory: QueueMemory;
  readonly entries: number;
  readonly strideBytes: number;
  readonly recordAddress: number;
  /** Reports an event of the queue. */
  postEvent(type: EventType, srqn: number): void;
}

/** The three forms; commands of one do not find queues of another. */
export const SharedForm = { PLAIN: 'srq', XRC: 'xrc srq', POOL: 'rmp' } as const;
export type SharedForm = (typeof SharedForm)[keyof typeof SharedForm];

export class Mlx5SharedReceiveQueue implements FaultSubject, XrcReceiveSource {
  readonly number: number;
  readonly faultObject = FaultObject.SRQ;
  readonly form: SharedForm;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  readonly xrc: XrcBinding | undefined;
  readonly ring: SharedReceiveRing;
  /** The context as the command gave it. */
  readonly context: Uint8Array;
  readonly plan: SharedReceivePlan;
  references = 0;
  /** Fewer entries than this cause one event; 0: no event. */
  limit = 0;
  /** An entry could not be read. */
  hasFailed = false;
  /** Called when it is gone: gives back what it used. */
  release: () => void = () => {};

  constructor(
    number: number,
    form: SharedForm,
    pd: ProtectionDomain,
    context: Uint8Array,
    plan: SharedReceivePlan,
    xrc?: XrcBinding,
  ) {
    this.number = number;
    this.form = form;
    this.owner = pd.owner;
    this.pd = pd;
    this.context = context;
    this.plan = plan;
    this.xrc = xrc;
    const { memory, entries, strideBytes, recordAddress } = plan;
    const counter = new ReceiveCounter(this.owner.dma, recordAddress);
    const place = { memory, offset: 0, entries, strideBytes, counter };
    this.ring = new SharedReceiveRing(place, linkedFormat, () => this.#fail());
  }

  /** Completions name an entry by its index. */
  counterOf(number: number): number {
    return number;
  }

  /** Sets the limit; 0 disarms it. An event that is due already comes at once. */
  arm(limit: number): void {
    this.limit = limit;
    this.checkLimit();
  }

  checkLimit(): void {
    if (!this.ring.isBelow(this.limit, this)) return;
    this.limit = 0;
    this.plan.postEvent(EventType.SRQ_LIMIT, this.number);
  }

  #fail(): void {
    this.hasFailed = true;
    this.plan.postEvent(EventType.SRQ_CATASTROPHIC, this.number);
  }
}
