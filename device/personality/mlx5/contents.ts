// SPDX-License-Identifier: Apache-2.0
/** The queues and event queues of an mlx5 device, as rows of `vuhca show`. */
import { qpStateName, ServiceType, serviceTypeName } from '../../../protocol/layout/gen/values.gen.ts';
import { getQpcCqnRcv, getQpcCqnSnd } from '../../../protocol/mlx5/gen/qpc.gen.ts';
import { armStateName, QueueStatus, queueStatusName } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import { sorted, unknownQueue, type Views } from '../shared/contents.ts';
import type { Hca } from './hca/hca.ts';
import type { Mlx5CompletionQueue } from './queues/completion-queue.ts';
import type { EventQueue } from './queues/event-queue.ts';
import type { Mlx5QueuePair } from './queues/queue-pair.ts';
import type { Mlx5SharedReceiveQueue } from './queues/shared-receive-queue.ts';

/** The views of the device. */
export function mlx5Views({ queuePairs, completionQueues, sharedReceiveQueues, events }: Hca): Views {
  return {
    queues: () => [
      ...sorted(queuePairs).map(describeQueuePair),
      ...sorted(completionQueues).map(describeCompletionQueue),
      ...sorted(sharedReceiveQueues).map(describeSharedQueue),
    ],
    events: () => sorted(events).map(describeEventQueue),
  };
}

/**
 * `next`: the request to be admitted next; `entries`, `unread`: blocks of the send queue, and those
 * behind that request which doorbells have named. An XRC target has no CQ (IBTA annex A14).
 */
function describeQueuePair({ number, qp, sends, view, isLocal }: Mlx5QueuePair): Row {
  const hasQueues = qp.serviceType !== ServiceType.XRC_TARGET;
  return {
    ...unknownQueue,
    queue: 'QP',
    number,
    state: qpStateName(qp.state),
    service: isLocal ? 'UMR' : serviceTypeName(qp.serviceType),
    entries: sends?.place.blocks ?? null,
    next: qp.nextSequence,
    inFlight: qp.inFlight,
    unread: sends?.waitingBlocks ?? null,
    sendCq: hasQueues ? getQpcCqnSnd(view, 0) : null,
    receiveCq: hasQueues ? getQpcCqnRcv(view, 0) : null,
    srq: qp.srq?.number ?? null,
  };
}

function describeSharedQueue({ number, limit, ring, plan }: Mlx5SharedReceiveQueue): Row {
  return {
    ...unknownQueue,
    queue: 'SRQ',
    number,
    state: limit === 0 ? 'UNARMED' : 'ARMED',
    entries: plan.entries,
    next: ring.taken,
    unread: ring.known,
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
