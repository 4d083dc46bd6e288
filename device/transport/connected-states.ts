// SPDX-License-Identifier: Apache-2.0
/**
 * The states that the transport attaches to a connected queue pair. The queue pair, a layer below,
 * holds them without knowing their classes; the transport finds them here.
 */
import type { QueuePair } from '../queues/queue-pair.ts';
import { RequesterState } from './requester-state.ts';
import { ResponderState } from './responder-state.ts';

/** Gives a new RC or UC queue pair its states. Call it once, before the queue pair is used. */
export function attachStates(qp: QueuePair): void {
  const requester = new RequesterState(qp);
  qp.requester = requester;
  qp.responder = new ResponderState(requester.path);
}

/** The state as requester; undefined for a datagram queue pair. */
export function requesterOf(qp: QueuePair): RequesterState | undefined {
  return qp.requester as RequesterState | undefined;
}

/** The state as responder; undefined for a datagram queue pair. */
export function responderOf(qp: QueuePair): ResponderState | undefined {
  return qp.responder as ResponderState | undefined;
}
