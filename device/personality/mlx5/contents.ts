// SPDX-License-Identifier: Apache-2.0
/** The queues and event queues of an mlx5 device, as rows of `vuhca show`. */
import { armStateName, QueueStatus, queueStatusName } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import { sorted, unknownQueue, type Views } from '../shared/contents.ts';
import type { Hca } from './hca/hca.ts';
import type { Mlx5CompletionQueue } from './queues/completion-queue.ts';
import type { EventQueue } from './queues/event-queue.ts';

/** The views of the device. */
export function mlx5Views({ completionQueues, events }: Hca): Views {
  return {
    queues: () => sorted(completionQueues).map(describeCompletionQueue),
    events: () => sorted(events).map(describeEventQueue),
  };
}

/** `unread` goes by the consumer index that was read last. */
function describeCompletionQueue({ number, context, producerCount, consumed }: Mlx5CompletionQueue): Row {
  return {
    ...unknownQueue,
    queue: 'CQ',
    number,
    state: stateOf(context.status, context.st),
    entries: 2 ** context.logCqSize,
    next: producerCount,
    unread: (producerCount - consumed) >>> 0,
  };
}

function describeEventQueue({ number, plan, status, armState, entries, posted, pendingEntries }: EventQueue): Row {
  return {
    eq: number,
    function: 0,
    vector: plan.vector,
    state: stateOf(status, armState),
    entries,
    posted,
    unread: pendingEntries,
  };
}

/** The state of arming of a queue that works. */
function stateOf(status: number, armState: number): string {
  return status === QueueStatus.OK ? armStateName(armState) : queueStatusName(status);
}
