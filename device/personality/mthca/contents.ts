// SPDX-License-Identifier: Apache-2.0
/** The queues and event queues of an mthca device, as rows of `vuhca show`. */
import { serviceTypeName } from '../../../protocol/layout/gen/values.gen.ts';
import { getQpContextReceiveCqn, getQpContextSendCqn } from '../../../protocol/mthca/gen/qp-context.gen.ts';
import {
  ContextStatus,
  contextStatusName,
  notificationStateName,
  qpContextStateName,
} from '../../../protocol/mthca/gen/values.gen.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import { sorted, unknownQueue, type Views } from '../shared/contents.ts';
import { COUNTER_MASK } from '../shared/receive-queue.ts';
import type { Hca } from './hca/hca.ts';
import type { MthcaCompletionQueue } from './queues/completion-queue.ts';
import type { MthcaEventQueue } from './queues/event-queue.ts';
import type { MthcaQueuePair } from './queues/queue-pair.ts';
import type { MthcaSharedReceiveQueue } from './queues/shared-receive-queue.ts';

/** The views of the device. */
export function mthcaViews(hca: Hca): Views {
  return {
    queues: () => showQueues(hca),
    events: () => sorted(hca.eventQueues).map(describeEventQueue),
  };
}

/** QPs, then CQs, then SRQs. */
function showQueues(hca: Hca): Row[] {
  return [
    ...sorted(hca.queuePairs).map(describeQueuePair),
    ...sorted(hca.completionQueues).map(describeCompletionQueue),
    ...sorted(hca.sharedReceiveQueues).map(describeSharedQueue),
  ];
}

/** `next`: the request to be admitted next; `unread`: those that doorbells have named behind it. */
function describeQueuePair({ number, state, isRaw, data, view, posted, sent }: MthcaQueuePair): Row {
  return {
    ...unknownQueue,
    queue: 'QP',
    number,
    state: qpContextStateName(state),
    service: isRaw ? 'MLX' : serviceTypeName(data?.qp.serviceType ?? 0),
    entries: data?.sends.place.entries ?? null,
    next: data?.qp.nextSequence ?? sent,
    inFlight: data?.qp.inFlight ?? null,
    unread: data?.sends.waiting ?? (posted - sent) & COUNTER_MASK,
    sendCq: getQpContextSendCqn(view, 0),
    receiveCq: getQpContextReceiveCqn(view, 0),
    srq: data?.qp.srq?.number ?? null,
  };
}

/** `unread` goes by the consumer index that was read last. */
function describeCompletionQueue({ number, count, context }: MthcaCompletionQueue): Row {
  const { status, notification, logEntries, consumerIndex } = context;
  return {
    ...unknownQueue,
    queue: 'CQ',
    number,
    state: status === ContextStatus.OK ? notificationStateName(notification) : contextStatusName(status),
    entries: 2 ** logEntries,
    next: count,
    unread: (count - consumerIndex) >>> 0,
  };
}

function describeSharedQueue({ number, context, ring }: MthcaSharedReceiveQueue): Row {
  return {
    ...unknownQueue,
    queue: 'SRQ',
    number,
    state: context.limit === 0 ? 'UNARMED' : 'ARMED',
    entries: 2 ** context.logEntries,
    next: ring.taken,
    unread: ring.known,
  };
}

function describeEventQueue({
  number,
  vector,
  status,
  notification,
  entries,
  count,
  pendingEntries,
}: MthcaEventQueue): Row {
  return {
    eq: number,
    function: 0,
    vector,
    state: status === ContextStatus.OK ? notificationStateName(notification) : contextStatusName(status),
    entries,
    posted: count,
    unread: pendingEntries,
  };
}
