// SPDX-License-Identifier: Apache-2.0
/**
 * The transport's view of a device that has no queue pairs: packets find none.
 */
import type { QueuePair } from '../../hca/queues/queue-pair.ts';

/** No queue pairs, as transport, traces and reports see them. */
export const noQueuePairs = {
  get: (_qpn: number): QueuePair | undefined => undefined,
  forEach: (_visit: (qp: QueuePair) => void): void => {},
};
