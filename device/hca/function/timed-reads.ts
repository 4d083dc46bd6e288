// SPDX-License-Identifier: Apache-2.0
/**
 * Outstanding reads of guest memory that belong to objects (US 8,484,392 par. 42): each read
 * occupies a DMA context for the latency of `DmaTiming`, and objects take turns for contexts.
 * Objects are READ responses, messages that are sent again, packets that wait for a receive WQE,
 * and the lane table. The owner of the object accesses memory when all its reads are complete.
 */
import { ArrivalRing } from './arrival-ring.ts';
import { DMA_CONTEXTS_MAX, type DmaTiming } from './dma-timing.ts';

/** An object that reads belong to. */
export interface PendingReads {
  /** False: its reads that are not issued yet are dropped. */
  active: boolean;
  /** Reads to be issued, and outstanding ones. */
  readsLeft: number;
  readsOutstanding: number;
  /** Counts what the object is used for, so that late reads of an earlier use are not its own. */
  readRound: number;
}

/** True when all reads of the object are complete. */
export function isHere({ readsLeft, readsOutstanding }: PendingReads): boolean {
  return readsLeft === 0 && readsOutstanding === 0;
}

export class TimedReads<T extends PendingReads> {
  readonly #timing: DmaTiming;
  /** Objects that have reads to issue; one that was dropped, or is listed twice, has none left. */
  readonly #issuing: T[] = [];
  readonly #arrivals: ArrivalRing;
  /** The object of each outstanding read, and its round. */
  readonly #readers = new Array<T | undefined>(DMA_CONTEXTS_MAX).fill(undefined);
  readonly #rounds = new Float64Array(DMA_CONTEXTS_MAX);

  constructor(timing: DmaTiming) {
    this.#timing = timing;
    this.#arrivals = new ArrivalRing(DMA_CONTEXTS_MAX, timing);
    timing.pool.join(() => this.#issueNext());
  }

  /** True when reads complete at once: nothing is to be added. */
  get instant(): boolean {
    return this.#timing.latencyNs === 0;
  }

  /** DMA contexts in use. */
  get contextsUsed(): number {
    return this.#arrivals.count;
  }

  /**
   * Arrival of the next completion that matters, Infinity for none. `awaited`: the owner waits for
   * its objects; otherwise a completion matters only to readers that wait for its context.
   */
  nextNs(awaited: boolean): number {
    return awaited || this.#timing.pool.exhausted ? this.#arrivals.nextNs : Number.POSITIVE_INFINITY;
  }

  /** The object needs `count` more reads. */
  add(object: T, count: number): void {
    if (count === 0) return;
    object.readsLeft += count;
    this.#issuing.push(object);
    this.#timing.pool.issue();
  }

  /** The object needs none of its reads. Their contexts stay in use until they arrive. */
  drop(object: T): void {
    object.readRound++;
    object.readsLeft = 0;
    object.readsOutstanding = 0;
  }

  /** Takes the completions that have arrived. Their contexts serve further reads. */
  land(): void {
    const arrivals = this.#arrivals;
    const nowNs = this.#timing.clock.now();
    while (arrivals.hasArrived(nowNs)) {
      const slot = arrivals.first;
      const reader = this.#readers[slot] as T;
      if (reader.readRound === this.#rounds[slot]) reader.readsOutstanding--;
      this.#readers[slot] = undefined;
      arrivals.remove();
      this.#timing.pool.give();
    }
    this.#timing.pool.issue();
  }

  /** Issues a read. Each object issues one per turn. Returns false when no object has any. */
  #issueNext(): boolean {
    for (;;) {
      const object = this.#issuing.shift();
      if (object === undefined) return false;
      if (!object.active || object.readsLeft === 0) continue;
      object.readsLeft--;
      object.readsOutstanding++;
      const slot = this.#arrivals.issue();
      this.#readers[slot] = object;
      this.#rounds[slot] = object.readRound;
      if (object.readsLeft > 0) this.#issuing.push(object);
      return true;
    }
  }
}
