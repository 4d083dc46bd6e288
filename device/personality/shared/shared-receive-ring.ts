// SPDX-License-Identifier: Apache-2.0
/**
 * The entries of an SRQ (IBTA 10.2.9): each names the one that software posts behind it, because
 * entries become free in any order. A counter in a doorbell record says how many are posted.
 * Completions name an entry by its index.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { ReceiveList, ReceiveSource } from '../../hca/queues/receive-source.ts';
import { COUNTER_MASK, type ReceiveFormat, type ReceivePlace } from './receive-queue.ts';
import { RequestBlock } from './request-block.ts';

/** How a personality writes an entry. */
export interface LinkedFormat extends ReceiveFormat {
  /** The number of the entry behind it, as the entry says; `strideBytes`: from entry to entry. */
  nextOf(view: DataView, strideBytes: number): number;
}

const request = new RequestBlock();

export class SharedReceiveRing implements ReceiveSource {
  /** Index of the next entry to take. */
  head = 0;
  /** Entries that were taken, and that software has posted, modulo 2^16. */
  taken = 0;
  #posted = 0;
  /** An entry could not be read, so the next one is not known. */
  failed = false;
  readonly #place: ReceivePlace;
  readonly #format: LinkedFormat;
  readonly #onFail: () => void;

  constructor(place: ReceivePlace, format: LinkedFormat, onFail: () => void) {
    this.#place = place;
    this.#format = format;
    this.#onFail = onFail;
  }

  get known(): number {
    return this.failed ? 0 : (this.#posted - this.taken) & COUNTER_MASK;
  }

  available(_owner: UnderlyingFunction, subject: FaultSubject): boolean {
    if (this.known === 0) this.refresh(subject);
    return this.known > 0;
  }

  credits(): number {
    return this.known;
  }

  take(): number {
    this.taken = (this.taken + 1) & COUNTER_MASK;
    return this.head;
  }

  /** Also finds the next entry: software has named it before it posted this one. */
  read(owner: UnderlyingFunction, subject: FaultSubject, number: number, list: ReceiveList): FaultKind {
    const { memory, entries, strideBytes } = this.#place;
    const offset = this.offsetOf(number);
    const fault = memory.read(subject, offset, strideBytes, request);
    if (fault !== FaultKind.NONE) {
      this.failed = true;
      this.#onFail();
      return fault;
    }
    this.head = this.#format.nextOf(request.view, strideBytes) % entries;
    const wrong = this.#format.load(request.view, strideBytes, list);
    if (wrong !== FaultKind.NONE) owner.faults.report(wrong, subject, memory.addressOf(offset));
    else if (owner.timeline !== undefined) this.#format.note(owner, subject.number, number);
    return wrong;
  }

  reset(): void {}

  offsetOf(number: number): number {
    return number * this.#place.strideBytes;
  }

  /** True when fewer than `limit` entries are left; never for 0. */
  isBelow(limit: number, subject: FaultSubject): boolean {
    if (this.known >= limit) return false;
    // Software may have posted since the counter was read.
    this.refresh(subject);
    return this.known < limit;
  }

  /** Reads software's counter. One that is further than there are entries is ignored. */
  refresh(subject: FaultSubject): void {
    const { counter, entries } = this.#place;
    const posted = counter.read(subject);
    if (posted === undefined) return;
    if (((posted - this.taken) & COUNTER_MASK) <= entries) this.#posted = posted & COUNTER_MASK;
  }
}
