// SPDX-License-Identifier: Apache-2.0
/**
 * Reads of guest memory for READ responses, while they take time (IBTA 9.7.5.1.2): the data of
 * an answer, also of a repeated one, is here one latency of `DmaTiming` after its request, because
 * its reads overlap. Answers keep their order: a QP waits for the data of its oldest answer.
 * `ResponderAnswers` calls it.
 */
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { ResponderResource, ResponderState } from './responder-state.ts';

export class ResponseReads {
  readonly #timing: DmaTiming;
  readonly #waiting: QueuePair[] = [];

  constructor(timing: DmaTiming) {
    this.#timing = timing;
  }

  /** Earliest arrival of data that a QP waits for; Infinity when none waits. */
  get nextNs(): number {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const qp of this.#waiting) nextNs = Math.min(nextNs, arrivalOf(qp));
    return nextNs;
  }

  /** QPs that wait for data. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Issues the reads of an answer. */
  begin(resource: ResponderResource): void {
    const isRead = this.#timing.latencyNs > 0 && !resource.isAtomic && resource.lengthBytes > 0;
    resource.arrivalNs = isRead ? this.#timing.arrivalNs : 0;
  }

  /** True when the next packet is of the wanted kind, and its data is here. */
  isNext(state: ResponderState, data: boolean): boolean {
    if (!state.hasNext(data)) return false;
    if (!data || state.queue[0].arrivalNs === 0) return true;
    return state.queue[0].arrivalNs <= this.#timing.clock.now();
  }

  /** The QP waits for the data of its oldest answer. */
  await(qp: QueuePair, state: ResponderState): void {
    if (state.reading) return;
    state.reading = true;
    this.#waiting.push(qp);
  }

  /** Calls `wake` for each QP whose data has arrived, or whose answers were dropped. */
  land(wake: (qp: QueuePair) => void): void {
    const nowNs = this.#timing.clock.now();
    const waiting = this.#waiting.splice(0);
    for (const qp of waiting) {
      if (arrivalOf(qp) > nowNs) this.#waiting.push(qp);
      else {
        (qp.responder as ResponderState).reading = false;
        wake(qp);
      }
    }
  }
}

/** Opcode of a packet of a READ response (IBTA 9.7.5.1.9). */
export function readResponseOpcode(first: boolean, last: boolean): number {
  if (first) return last ? BthOpcode.RC_RDMA_READ_RESPONSE_ONLY : BthOpcode.RC_RDMA_READ_RESPONSE_FIRST;
  return last ? BthOpcode.RC_RDMA_READ_RESPONSE_LAST : BthOpcode.RC_RDMA_READ_RESPONSE_MIDDLE;
}

function arrivalOf(qp: QueuePair): number {
  return (qp.responder as ResponderState).queue[0]?.arrivalNs ?? 0;
}
