// SPDX-License-Identifier: Apache-2.0
/**
 * Reads of guest memory for READ responses, while they take time (IBTA 9.7.5.1.2; US 8,484,392
 * par. 42): each occupies a DMA context for the latency of `DmaTiming`; answers take turns for
 * contexts. An answer, also a repeated one, is sent when all its data is here. Answers keep their
 * order: a QP waits for the data of its oldest answer. `ResponderAnswers` calls it.
 */
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { ArrivalRing } from '../function/arrival-ring.ts';
import { DMA_CONTEXTS_MAX, type DmaTiming } from '../function/dma-timing.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { READ_REQUEST_BYTES } from './payload-reads.ts';
import type { ResponderResource, ResponderState } from './responder-state.ts';

export class ResponseReads {
  readonly #timing: DmaTiming;
  readonly #waiting: QueuePair[] = [];
  /** Answers that have reads to issue; one that was dropped, or is listed twice, has none left. */
  readonly #issuing: ResponderResource[] = [];
  /** Outstanding reads: the answer of each, and its round. */
  readonly #arrivals: ArrivalRing;
  readonly #readers = new Array<ResponderResource | undefined>(DMA_CONTEXTS_MAX).fill(undefined);
  readonly #rounds = new Float64Array(DMA_CONTEXTS_MAX);

  constructor(timing: DmaTiming) {
    this.#timing = timing;
    this.#arrivals = new ArrivalRing(DMA_CONTEXTS_MAX, timing);
    timing.pool.join(() => this.#issueNext());
  }

  /**
   * Arrival of the next read that a QP, or another read, waits for; Infinity when none waits for
   * it.
   */
  get nextNs(): number {
    if (this.#waiting.length === 0 && !this.#timing.pool.exhausted) return Number.POSITIVE_INFINITY;
    return this.#arrivals.nextNs;
  }

  /** QPs that wait for data. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** True when there is something to take in, now or later. */
  get busy(): boolean {
    return this.#waiting.length > 0 || this.#arrivals.count > 0;
  }

  /** DMA contexts in use for answers. */
  get contextsUsed(): number {
    return this.#arrivals.count;
  }

  /** Issues the reads of an answer. */
  begin(resource: ResponderResource): void {
    resource.readRound++;
    resource.readsOutstanding = 0;
    const isRead = this.#timing.latencyNs > 0 && !resource.isAtomic;
    resource.readsLeft = isRead ? Math.ceil(resource.lengthBytes / READ_REQUEST_BYTES) : 0;
    if (resource.readsLeft === 0) return;
    this.#issuing.push(resource);
    this.#timing.pool.issue();
  }

  /** True when the next packet is of the wanted kind, and its data is here. */
  isNext(state: ResponderState, data: boolean): boolean {
    return state.hasNext(data) && (!data || isHere(state.queue[0]));
  }

  /** The QP waits for the data of its oldest answer. */
  await(qp: QueuePair, state: ResponderState): void {
    if (state.reading) return;
    state.reading = true;
    this.#waiting.push(qp);
  }

  /** Calls `wake` for each QP whose data has arrived, or whose answers were dropped. */
  land(wake: (qp: QueuePair) => void): void {
    this.#takeArrived(this.#timing.clock.now());
    this.#timing.pool.issue();
    for (let left = this.#waiting.length; left > 0; left--) {
      const qp = this.#waiting.shift() as QueuePair;
      const state = qp.responder as ResponderState;
      const [oldest] = state.queue;
      if (oldest !== undefined && !isHere(oldest)) this.#waiting.push(qp);
      else {
        state.reading = false;
        wake(qp);
      }
    }
  }

  #takeArrived(nowNs: number): void {
    const arrivals = this.#arrivals;
    while (arrivals.hasArrived(nowNs)) {
      const slot = arrivals.first;
      const reader = this.#readers[slot] as ResponderResource;
      if (reader.readRound === this.#rounds[slot]) reader.readsOutstanding--;
      this.#readers[slot] = undefined;
      arrivals.remove();
      this.#timing.pool.give();
    }
  }

  /** Issues a read. Each answer issues one per turn. Returns false when no answer has any. */
  #issueNext(): boolean {
    for (;;) {
      const resource = this.#issuing.shift();
      if (resource === undefined) return false;
      if (!resource.active || resource.readsLeft === 0) continue;
      resource.readsLeft--;
      resource.readsOutstanding++;
      const slot = this.#arrivals.issue();
      this.#readers[slot] = resource;
      this.#rounds[slot] = resource.readRound;
      if (resource.readsLeft > 0) this.#issuing.push(resource);
      return true;
    }
  }
}

/** Opcode of a packet of a READ response (IBTA 9.7.5.1.9). */
export function readResponseOpcode(first: boolean, last: boolean): number {
  if (first) return last ? BthOpcode.RC_RDMA_READ_RESPONSE_ONLY : BthOpcode.RC_RDMA_READ_RESPONSE_FIRST;
  return last ? BthOpcode.RC_RDMA_READ_RESPONSE_LAST : BthOpcode.RC_RDMA_READ_RESPONSE_MIDDLE;
}

function isHere({ readsLeft, readsOutstanding }: ResponderResource): boolean {
  return readsLeft === 0 && readsOutstanding === 0;
}
