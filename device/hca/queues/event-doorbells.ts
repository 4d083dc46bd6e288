// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells of completion and event queues: arming, EQ pending, consumer counts (IBTA 11.4.2;
 * IPCOM000126453D par. 2). The PCIe function and its registers call it. A doorbell reaches only
 * queues of its own function, and from a page of a collect context only those of the context.
 */
import {
  getCqNotifyClearOnly,
  getCqNotifyClearPending,
  getCqNotifyConsumed,
  getCqNotifyCqn,
  getCqNotifySolicitedOnly,
} from '../../../protocol/layout/gen/cq-notify.gen.ts';
import { getEqConsumerConsumed, getEqConsumerEqn } from '../../../protocol/layout/gen/eq-consumer.gen.ts';
import { FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ContextOrKernel } from './collect-context.ts';
import type { ObjectTables } from './object-tables.ts';

/** Decodes the doorbells of one function and passes them to the queues. */
export class EventDoorbells {
  readonly #owner: UnderlyingFunction;
  readonly #tables: ObjectTables;
  readonly #view = new DataView(new ArrayBuffer(8));

  constructor(owner: UnderlyingFunction, tables: ObjectTables) {
    this.#owner = owner;
    this.#tables = tables;
  }

  /**
   * Takes a `cq-notify` doorbell. Only the kernel clears EQ pending: otherwise a process could post
   * events without end, and overrun the event queue of all (IPCOM000126453D par. 2).
   */
  notify(low: number, high: number, context?: ContextOrKernel): void {
    const view = this.#load(low, high);
    const cqn = getCqNotifyCqn(view, 0);
    const queue = this.#tables.completionQueues.get(cqn);
    if (queue === undefined || queue.owner !== this.#owner)
      return this.#owner.faults.reportNumber(FaultKind.CQ_ERROR, FaultObject.CQ, cqn, 0);
    const isKernel = context === undefined;
    const isClear = getCqNotifyClearOnly(view, 0) === 1;
    if (!isKernel && (queue.collectContext !== context || isClear)) {
      context.refuse();
      return this.#owner.faults.reportNumber(FaultKind.COLLECT_CONTEXT, FaultObject.CQ, cqn, 0);
    }
    if (isClear) return queue.clearPending();
    queue.requestNotify(
      getCqNotifySolicitedOnly(view, 0) === 1,
      isKernel && getCqNotifyClearPending(view, 0) === 1,
      getCqNotifyConsumed(view, 0),
    );
  }

  /** Takes an `eq-consumer` doorbell. */
  consumeEvents(low: number, high: number): void {
    const view = this.#load(low, high);
    const eqn = getEqConsumerEqn(view, 0);
    const queue = this.#tables.eventQueues.get(eqn);
    if (queue === undefined || queue.owner !== this.#owner)
      return this.#owner.faults.reportNumber(FaultKind.EQ_OVERRUN, FaultObject.EQ, eqn, 0);
    queue.consume(getEqConsumerConsumed(view, 0));
  }

  #load(low: number, high: number): DataView {
    this.#view.setUint32(0, low, true);
    this.#view.setUint32(4, high, true);
    return this.#view;
  }
}
