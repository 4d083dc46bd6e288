// SPDX-License-Identifier: Apache-2.0
/**
 * Takes WQEs from the receive queues of queue pairs (IBTA 10.2.4, 10.3.1, 9.7.7.2), their own or
 * shared ones. Called by the responders, and by the queue-pair life cycle to flush.
 */
import { CompletionStatus, type FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { postReceiveCompletion, ReceiveReport } from './completions.ts';
import type { ScatterGatherList } from './scatter-gather.ts';

/** WQEs that are flushed in one turn. */
export const FLUSH_TURN = 64;

export class ReceiveQueueReader {
  /** Number of the WQE taken last. */
  number = 0;
  readonly #flushed = new ReceiveReport();
  /** Queue pairs with WQEs to flush, in the order of their turns. */
  readonly #flushing = new Set<QueuePair>();

  constructor() {
    this.#flushed.status = CompletionStatus.FLUSHED;
  }

  /** True when a WQE is posted to the QP, or to the SRQ that it receives from. */
  available(qp: QueuePair): boolean {
    return qp.receiveSource.available(qp.owner, qp);
  }

  /**
   * Posted WQEs, as end-to-end credits; -1 with an SRQ, which grants none (IBTA 9.7.7.2, 10.2.9).
   */
  credits(qp: QueuePair): number {
    return qp.srq === undefined ? qp.receiveSource.credits(qp.owner, qp) : -1;
  }

  /**
   * Takes the oldest WQE and reads its elements into `list`. Returns NONE or the fault. The caller
   * has checked `available`.
   */
  take(qp: QueuePair, list: ScatterGatherList): FaultKind {
    const source = qp.receiveSource;
    this.number = source.take();
    qp.srq?.checkLimit();
    list.clear();
    return source.read(qp.owner, qp, this.number, list);
  }

  /** Puts the WQE that was taken last back: its datagram was dropped. */
  giveBack(qp: QueuePair): void {
    qp.receiveSource.giveBack?.();
  }

  /**
   * Completes every posted WQE as flushed, in order: some of them now, the others by `flushMore`.
   * Those of an SRQ stay for other QPs (IBTA 10.3.1, 10.2.9.4).
   */
  flush(qp: QueuePair): void {
    if (qp.srq !== undefined || this.#flushing.has(qp)) return;
    this.#flushing.add(qp);
    this.#flushSome(qp, FLUSH_TURN);
  }

  /**
   * Goes on with the queue pair whose turn it is, at most `limit` WQEs. Returns how many it has
   * completed. Software may post as fast as they are flushed, so a queue pair has short turns.
   */
  flushMore(limit: number): number {
    if (this.#flushing.size === 0) return 0;
    for (const qp of this.#flushing) {
      const done = this.#flushSome(qp, Math.min(limit, FLUSH_TURN));
      if (done === 0) continue;
      if (this.#flushing.delete(qp)) this.#flushing.add(qp);
      return done;
    }
    return 0;
  }

  /** The queue pair has left ERR, or is gone. */
  forget(qp: QueuePair): void {
    this.#flushing.delete(qp);
  }

  /** A queue pair that has none left leaves the turns. */
  #flushSome(qp: QueuePair, limit: number): number {
    for (let done = 0; done < limit; done++) {
      if (!this.available(qp)) {
        this.#flushing.delete(qp);
        return done;
      }
      postReceiveCompletion(qp, qp.receiveSource.take(), this.#flushed);
    }
    return limit;
  }
}
