// SPDX-License-Identifier: Apache-2.0
/** The event queues of an mlx5 device, as rows of `vuhca show`. */
import { armStateName, QueueStatus, queueStatusName } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import { sorted, type Views } from '../shared/contents.ts';
import type { Hca } from './hca/hca.ts';
import type { EventQueue } from './queues/event-queue.ts';

/** The views of the device. */
export function mlx5Views({ events }: Hca): Views {
  return { events: () => sorted(events).map(describeEventQueue) };
}

function describeEventQueue({ number, plan, status, armState, entries, posted, pendingEntries }: EventQueue): Row {
  return {
    eq: number,
    function: 0,
    vector: plan.vector,
    state: status === QueueStatus.OK ? armStateName(armState) : queueStatusName(status),
    entries,
    posted,
    unread: pendingEntries,
  };
}
