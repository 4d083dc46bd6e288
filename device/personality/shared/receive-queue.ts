// SPDX-License-Identifier: Apache-2.0
/**
 * The receive queue of a QP (IBTA 10.2.4). Software posts receives by the counter in a doorbell
 * record; there is no doorbell, so the record is read when no receive is known. The transport takes
 * receives from it, and completions ask it for the offsets of requests.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { ReceiveList, ReceiveSource } from '../../hca/queues/receive-source.ts';
import { type PostedCounter, RequestBlock, type RequestMemory } from './request-block.ts';

/** Counters of work queues have 16 bits. */
export const COUNTER_MASK = 0xffff;

const request = new RequestBlock();

/** How a personality writes a receive. */
export interface ReceiveFormat {
  /** Appends the elements of a receive of `sizeBytes`. Returns NONE or RECEIVE_ENTRY. */
  load(view: DataView, sizeBytes: number, list: ReceiveList): FaultKind;
  /** The receive that was loaded last goes to the timeline. */
  note(owner: UnderlyingFunction, qpn: number, number: number): void;
}

/** Place and size of a queue, and its doorbell record. */
export interface ReceivePlace {
  readonly memory: RequestMemory;
  /** Offset of the first entry in `memory`. */
  readonly offset: number;
  readonly entries: number;
  readonly strideBytes: number;
  readonly counter: PostedCounter;
}

export class ReceiveQueue implements ReceiveSource {
  head = 0;
  #tail = 0;
  readonly #place: ReceivePlace;
  readonly #format: ReceiveFormat;

  constructor(place: ReceivePlace, format: ReceiveFormat) {
    this.#place = place;
    this.#format = format;
  }

  get known(): number {
    return (this.#tail - this.head) & COUNTER_MASK;
  }

  available(_owner: UnderlyingFunction, subject: FaultSubject): boolean {
    if (this.head === this.#tail) this.#refresh(subject);
    return this.head !== this.#tail;
  }

  credits(_owner: UnderlyingFunction, subject: FaultSubject): number {
    // Read before they run out: a sender that learns of the last one only would stop and go.
    if (this.known * 2 < this.#place.entries) this.#refresh(subject);
    return this.known;
  }

  take(): number {
    const number = this.head;
    this.head = (number + 1) & COUNTER_MASK;
    return number;
  }

  read(owner: UnderlyingFunction, subject: FaultSubject, number: number, list: ReceiveList): FaultKind {
    const { memory, strideBytes } = this.#place;
    const offset = this.offsetOf(number);
    const fault = memory.read(subject, offset, strideBytes, request);
    if (fault !== FaultKind.NONE) return fault;
    const wrong = this.#format.load(request.view, strideBytes, list);
    if (wrong !== FaultKind.NONE) owner.faults.report(wrong, subject, memory.addressOf(offset));
    else if (owner.timeline !== undefined) this.#format.note(owner, subject.number, number);
    return wrong;
  }

  reset(): void {
    this.head = 0;
    this.#tail = 0;
  }

  /** Offset of a receive in the memory of the queue. */
  offsetOf(number: number): number {
    const { offset, entries, strideBytes } = this.#place;
    return offset + (number % entries) * strideBytes;
  }

  /** A counter that is further than the queue has entries is ignored. */
  #refresh(subject: FaultSubject): void {
    const { counter, entries } = this.#place;
    const posted = counter.read(subject);
    if (posted === undefined) return;
    if (((posted - this.head) & COUNTER_MASK) <= entries) this.#tail = posted & COUNTER_MASK;
  }
}
