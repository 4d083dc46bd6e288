// SPDX-License-Identifier: Apache-2.0
/**
 * Asynchronous events of QPs as the transport reports them (IBTA 11.6.3), in the form of this
 * personality. CQs and SRQs report their own; ports do so through `Events`.
 */
import { EventType } from '../../../../protocol/layout/gen/values.gen.ts';
import { EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { AsynchronousEventQueue, EventRecord } from '../../../hca/function/event-record.ts';
import type { Events } from './events.ts';

const kinds: Readonly<Partial<Record<number, EventKind>>> = {
  [EventType.QP_FATAL]: EventKind.QP_FATAL,
  [EventType.QP_REQUEST_ERROR]: EventKind.QP_INVALID_REQUEST,
  [EventType.QP_ACCESS_ERROR]: EventKind.QP_ACCESS_ERROR,
  [EventType.COMMUNICATION_ESTABLISHED]: EventKind.COMMUNICATION_ESTABLISHED,
  [EventType.SEND_QUEUE_DRAINED]: EventKind.SEND_QUEUE_DRAINED,
  [EventType.LAST_WQE_REACHED]: EventKind.LAST_WQE_REACHED,
};

export class ObjectEvents implements AsynchronousEventQueue {
  asynchronous = true;
  readonly #events: Events;

  constructor(events: Events) {
    this.#events = events;
  }

  post({ type, objectNumber }: EventRecord): boolean {
    const kind = kinds[type];
    if (kind !== undefined) this.#events.postObject(kind, objectNumber);
    return true;
  }

  /** Regions of this personality are never on demand. */
  postPageFault(event: EventRecord): boolean {
    return this.post(event);
  }
}
