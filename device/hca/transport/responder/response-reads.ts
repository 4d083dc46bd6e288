// SPDX-License-Identifier: Apache-2.0
/**
 * Reads of guest memory for READ responses, while they take time (IBTA 9.7.5.1.2; US 8,484,392
 * par. 42): each occupies a DMA context for the latency of `DmaTiming`; answers take turns for
 * contexts. An answer, also a repeated one, is sent when all its data is here. Answers keep their
 * order: a QP waits for the data of its oldest answer. `ResponderAnswers` calls it.
 */
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import type { DmaTiming } from '../../function/dma-timing.ts';
import { isHere, TimedReads } from '../../function/timed-reads.ts';
import { READ_REQUEST_BYTES } from '../payload-reads.ts';
import type { ResponderResource, ResponderState } from '../state/responder-state.ts';

/** A FLUSH waits for one read, however little it returns. */
const FLUSH_READ_BYTES = 1;

export class ResponseReads {
  readonly #waiting: ResponderState[] = [];
  readonly #reads: TimedReads<ResponderResource>;

  constructor(timing: DmaTiming) {
    this.#reads = new TimedReads(timing);
  }

  /**
   * Arrival of the next read that a QP, or another read, waits for; Infinity when none waits for
   * it.
   */
  get nextNs(): number {
    return this.#reads.nextNs(this.#waiting.length > 0);
  }

  /** QPs that wait for data. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** True when there is something to take in, now or later. */
  get busy(): boolean {
    return this.#waiting.length > 0 || this.#reads.contextsUsed > 0;
  }

  /** DMA contexts in use for answers. */
  get contextsUsed(): number {
    return this.#reads.contextsUsed;
  }

  /** Issues the reads of an answer. */
  begin(resource: ResponderResource): void {
    this.#reads.drop(resource);
    this.#add(resource, resource.isFlush ? FLUSH_READ_BYTES : resource.lengthBytes);
  }

  /** Reads `lengthBytes` of an answer again: packets that were sent are sent once more. */
  repeat(resource: ResponderResource, lengthBytes: number): void {
    this.#add(resource, lengthBytes);
  }

  #add(resource: ResponderResource, lengthBytes: number): void {
    if (this.#reads.instant || resource.isAtomic) return;
    this.#reads.add(resource, Math.ceil(lengthBytes / READ_REQUEST_BYTES));
  }

  /** True when the next packet is of the wanted kind, and its data is here. */
  isNext(state: ResponderState, data: boolean): boolean {
    return state.hasNext(data) && (!data || isHere(state.queue[0]));
  }

  /** The QP waits for the data of its oldest answer. */
  await(state: ResponderState): void {
    if (state.reading) return;
    state.reading = true;
    this.#waiting.push(state);
  }

  /** Calls `wake` for each QP whose data has arrived, or whose answers were dropped. */
  land(wake: (state: ResponderState) => void): void {
    this.#reads.land();
    for (let left = this.#waiting.length; left > 0; left--) {
      const state = this.#waiting.shift() as ResponderState;
      const [oldest] = state.queue;
      if (oldest !== undefined && !isHere(oldest)) this.#waiting.push(state);
      else {
        state.reading = false;
        wake(state);
      }
    }
  }
}

/** Opcode of a packet of a READ response (IBTA 9.7.5.1.9). */
export function readResponseOpcode(first: boolean, last: boolean): number {
  if (first) return last ? BthOpcode.RC_RDMA_READ_RESPONSE_ONLY : BthOpcode.RC_RDMA_READ_RESPONSE_FIRST;
  return last ? BthOpcode.RC_RDMA_READ_RESPONSE_LAST : BthOpcode.RC_RDMA_READ_RESPONSE_MIDDLE;
}
