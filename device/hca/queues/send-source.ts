// SPDX-License-Identifier: Apache-2.0
/**
 * The unit that reads send queues and admits their commands to the lanes, as transport and the life
 * cycle of queue pairs see it. `SendQueueScheduler` implements it for the adapter's own front end;
 * a personality brings its own (docs/verbs/PERSONALITIES.md). It reads a queue while
 * `qp.sendsAreTaken`, from `qp.nextSequence` on; in ERR and SQE commands are admitted as well, and
 * the send pipeline completes them as flushed, in their order.
 */
import type { QueuePair } from './queue-pair.ts';

export interface SendSource {
  /**
   * The send queue of the QP may have commands to read: its state changed, its lane has room again,
   * or it can launch again after a wait. No effect when none are posted.
   */
  schedule(qp: QueuePair): void;
  /** Reads no more of the send queue until the next `schedule`. */
  unschedule(qp: QueuePair): void;
  /** The QP is in RESET and its queues are empty. `wasStopped`: a doorbell had stopped them. */
  restart(qp: QueuePair, wasStopped: boolean): void;
  /** The QP is being destroyed: drops what is kept for it. */
  forget(qp: QueuePair): void;
}
