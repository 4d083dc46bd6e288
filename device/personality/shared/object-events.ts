// SPDX-License-Identifier: Apache-2.0
/**
 * Asynchronous events of QPs as the transport reports them (IBTA 11.6.3), in the form of a
 * personality. CQs and SRQs report their own; ports do so through the events of the HCA.
 */
import type { AsynchronousEventQueue, EventRecord } from '../../hca/function/event-record.ts';

export class ObjectEvents<Kind extends number> implements AsynchronousEventQueue {
  asynchronous = true;
  readonly #kinds: Readonly<Partial<Record<number, Kind>>>;
  readonly #post: (kind: Kind, number: number) => void;

  /** `kinds`: of the personality, by `EventType`. `post` posts one about the object `number`. */
  constructor(kinds: Readonly<Partial<Record<number, Kind>>>, post: (kind: Kind, number: number) => void) {
    this.#kinds = kinds;
    this.#post = post;
  }

  post({ type, objectNumber }: EventRecord): boolean {
    const kind = this.#kinds[type];
    if (kind !== undefined) this.#post(kind, objectNumber);
    return true;
  }

  /** Regions of personalities are never on demand. */
  postPageFault(event: EventRecord): boolean {
    return this.post(event);
  }
}
