// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue scheduler buffer of one function (US9069485): doorbells {QP, sequence} that were taken from the bus and wait until their queue is linked. Entries
 * leave in the order they came: first those whose link check is outstanding, behind them those for which none was issued yet.
 */
import type { QueuePair } from '../queues/queue-pair.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';

export class DoorbellBuffer {
  /** Entries in use, and of these, with an outstanding link check. */
  used = 0;
  checking = 0;
  readonly #queuePairs: (QueuePair | undefined)[];
  readonly #sequences: Uint16Array;
  #head = 0;

  constructor(entries: number) {
    this.#queuePairs = new Array<QueuePair | undefined>(entries).fill(undefined);
    this.#sequences = new Uint16Array(entries);
  }

  get entries(): number {
    return this.#sequences.length;
  }

  get free(): number {
    return this.entries - this.used;
  }

  push(qp: QueuePair, sequence: number): void {
    const at = this.#at(this.used++);
    this.#queuePairs[at] = qp;
    this.#sequences[at] = sequence;
  }

  /** QP of the entry whose link check is to be issued next. */
  get nextToCheck(): QueuePair {
    return this.#queuePairs[this.#at(this.checking)] as QueuePair;
  }

  /** Takes the oldest entry, whose link check has completed. */
  pop(): QueuePair {
    const qp = this.#queuePairs[this.#head] as QueuePair;
    this.#queuePairs[this.#head] = undefined;
    this.#head = this.#at(1);
    this.used--;
    this.checking--;
    return qp;
  }

  /** Position of the entry of the QP with the most in the overflow buffer among those not being checked, or -1 when none has more than `atLeast`. */
  findMostSpilled(atLeast: number, overflow: OverflowBuffer): number {
    let found = -1;
    let most = atLeast;
    for (let position = this.checking; position < this.used; position++) {
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

  /** Another doorbell takes the place of one. */
  replace(position: number, qp: QueuePair, sequence: number): void {
    this.#queuePairs[this.#at(position)] = qp;
    this.#sequences[this.#at(position)] = sequence;
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
