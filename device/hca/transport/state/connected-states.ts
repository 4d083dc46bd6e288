// SPDX-License-Identifier: Apache-2.0
/**
 * Attaches requester and responder state to a connected queue pair. The queue pair, a layer below,
 * holds them without knowing their classes; transport code reads them through this file.
 */
import type { QueuePair } from '../../queues/queue-pair.ts';
import { RequesterState } from './requester-state.ts';
import { ResponderState } from './responder-state.ts';

/** Gives a new RC or UC queue pair its states. Called once, before the queue pair is used. */
export function attachStates(qp: QueuePair): void {
  const { path } = new RequesterState(qp);
  new ResponderState(qp, path);
}

/** The requester's state; undefined for a datagram queue pair. */
export function requesterOf(qp: QueuePair): RequesterState | undefined {
  return qp.requester as RequesterState | undefined;
}

/** The responder's state; undefined for a datagram queue pair. */
export function responderOf(qp: QueuePair): ResponderState | undefined {
  return qp.responder as ResponderState | undefined;
}
