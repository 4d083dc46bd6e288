// SPDX-License-Identifier: Apache-2.0
/**
 * The scheduler buffer of one function (US 9,069,485 par. 21, 67): a FIFO of doorbells (QP and
 * sequence number) that were taken from the bus and whose queue is not linked yet. The oldest
 * entries have a link check outstanding; the entries behind them have not been checked yet.
 * `DoorbellUnit` fills and empties it; `SpilledDoorbells` exchanges entries (par. 90).
 */
import type { QueuePair } from '../queues/queue-pair.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';

export class DoorbellBuffer {
  /** Entries in use, and how many of them have a link check outstanding. */
  used = 0;
  checking = 0;
  readonly #queuePairs: (QueuePair | undefined)[];
  readonly #sequences: Uint16Array;
  /** Number of the doorbell, counted modulo 2^16: it tells whose link check has completed. */
  readonly #serials: Uint16Array;
  #serial = 0;
  #head = 0;

  constructor(entries: number) {
    this.#queuePairs = new Array<QueuePair | undefined>(entries).fill(undefined);
    this.#sequences = new Uint16Array(entries);
    this.#serials = new Uint16Array(entries);
  }

  /** Capacity. */
  get entries(): number {
    return this.#sequences.length;
  }

  get free(): number {
    return this.entries - this.used;
  }

  /** Appends a doorbell. The caller has checked `free`. */
  push(qp: QueuePair, sequence: number): void {
    const at = this.#at(this.used++);
    this.#queuePairs[at] = qp;
    this.#sequences[at] = sequence;
    this.#serials[at] = this.#serial++;
  }

  /** QP of the oldest entry without a link check. The caller has checked that there is one. */
  get nextToCheck(): QueuePair {
    return this.#queuePairs[this.#at(this.checking)] as QueuePair;
  }

  /** Serial number of that entry. */
  get serialToCheck(): number {
    return this.#serials[this.#at(this.checking)];
  }

  /**
   * The link check of doorbell `serial` has completed: removes the oldest entry and returns its QP.
   * Returns undefined when that doorbell was spilled while the check was outstanding.
   */
  take(serial: number): QueuePair | undefined {
    if (this.checking === 0 || this.#serials[this.#head] !== serial) return undefined;
    const qp = this.#queuePairs[this.#head] as QueuePair;
    this.#queuePairs[this.#head] = undefined;
    this.#head = this.#at(1);
    this.used--;
    this.checking--;
    return qp;
  }

  /**
   * Position of the first entry from `from` on whose QP has the most entries in the overflow
   * buffer; -1 when none has more than `atLeast`.
   */
  findMostSpilled(from: number, atLeast: number, overflow: OverflowBuffer): number {
    let found = -1;
    let most = atLeast;
    for (let position = from; position < this.used; position++) {
      const spilled = overflow.spilledOf(this.queuePairAt(position));
      if (spilled <= most) continue;
      most = spilled;
      found = position;
    }
    return found;
  }

  queuePairAt(position: number): QueuePair {
    return this.#queuePairs[this.#at(position)] as QueuePair;
  }

  sequenceAt(position: number): number {
    return this.#sequences[this.#at(position)];
  }

  /** Overwrites the entry at `position`. The order of the other entries stays. */
  replace(position: number, qp: QueuePair, sequence: number): void {
    this.#queuePairs[this.#at(position)] = qp;
    this.#sequences[this.#at(position)] = sequence;
  }

  /** Removes the entry at `position`. The order of the others stays. */
  remove(position: number): void {
    this.used--;
    if (position < this.checking) this.checking--;
    for (let place = position; place < this.used; place++) {
      const [to, from] = [this.#at(place), this.#at(place + 1)];
      this.#queuePairs[to] = this.#queuePairs[from];
      this.#sequences[to] = this.#sequences[from];
      this.#serials[to] = this.#serials[from];
    }
    this.#queuePairs[this.#at(this.used)] = undefined;
  }

  clear(): void {
    this.#queuePairs.fill(undefined);
    this.used = 0;
    this.checking = 0;
  }

  #at(position: number): number {
    const at = this.#head + position;
    return at >= this.#sequences.length ? at - this.#sequences.length : at;
  }
}
