// SPDX-License-Identifier: Apache-2.0
/**
 * The views of `vuhca show` that an adapter of the personality mthca has: kick lists, commands,
 * queues, and event queues (docs/verbs/PERSONALITIES.md). It has no VCBs, doorbell units, overflow
 * buffers and send contexts. The control socket answers with it; it only reads.
 */

import { serviceTypeName } from '../../../protocol/layout/gen/values.gen.ts';
import { getQpContextReceiveCqn, getQpContextSendCqn } from '../../../protocol/mthca/gen/qp-context.gen.ts';
import {
  ContextStatus,
  contextStatusName,
  notificationStateName,
  qpContextStateName,
} from '../../../protocol/mthca/gen/values.gen.ts';
import { type CommandHolder, showHeldCommands, showLanes } from '../../hca/adapter/contents/commands.ts';
import { type Contents, type ContentsRequest, readView, selectRows } from '../../hca/adapter/contents/contents.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import type { ViewName } from '../../hca/adapter/contents/view-names.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { MthcaAdapter } from './mthca-adapter.ts';
import type { MthcaCompletionQueue } from './queues/completion-queue.ts';
import type { MthcaEventQueue } from './queues/event-queue.ts';
import type { MthcaQueuePair } from './queues/queue-pair.ts';
import type { MthcaSharedReceiveQueue } from './queues/shared-receive-queue.ts';

type View = (adapter: MthcaAdapter) => Row[];

const views: Readonly<Partial<Record<ViewName, View>>> = {
  lanes: (adapter) => showLanes({ adapter: holderOf(adapter) }),
  commands: (adapter) => showHeldCommands(holderOf(adapter)),
  queues: showQueues,
  events: ({ hca }) => sorted(hca.eventQueues).map(describeEventQueue),
};

/** Answers a request. Throws an error of one sentence for one that cannot be met. */
export function showMthcaContents(adapter: MthcaAdapter, request: ContentsRequest): Contents {
  const name = readView(request);
  const view = views[name];
  if (view === undefined)
    throw new Refusal(`the personality mthca has nothing to show as ${name}; it has ${Object.keys(views).join(', ')}`);
  // No command names the process that owns a queue pair.
  return selectRows(view(adapter), request, () => undefined);
}

/** The buffers of the send queues stand in the place of the scheduler's. */
function holderOf({ lanes, tables, sends }: MthcaAdapter): CommandHolder {
  return { lanes, tables, collectBuffers: { buffers: [] }, schedulerBuffers: sends };
}

function sorted<T extends { readonly number: number }>(table: { values(): Iterable<T> }): T[] {
  return [...table.values()].sort((a, b) => a.number - b.number);
}

const nothing = {
  queue: '',
  number: 0,
  function: 0,
  state: null,
  service: null,
  entries: null,
  next: 0,
  inFlight: null,
  unread: null,
  sendCq: null,
  receiveCq: null,
  srq: null,
} as const;

/** QPs, then CQs, then SRQs. */
function showQueues({ hca }: MthcaAdapter): Row[] {
  return [
    ...sorted(hca.queuePairs).map(describeQueuePair),
    ...sorted(hca.completionQueues).map(describeCompletionQueue),
    ...sorted(hca.sharedReceiveQueues).map(describeSharedQueue),
  ];
}

/** `next`: the request to be admitted next; `unread`: those that doorbells have named behind it. */
function describeQueuePair({ number, state, isRaw, data, view, posted, sent }: MthcaQueuePair): Row {
  return {
    ...nothing,
    queue: 'QP',
    number,
    state: qpContextStateName(state),
    service: isRaw ? 'MLX' : serviceTypeName(data?.qp.serviceType ?? 0),
    entries: data?.sends.place.entries ?? null,
    next: data?.qp.nextSequence ?? sent,
    inFlight: data?.qp.inFlight ?? null,
    unread: data?.sends.waiting ?? (posted - sent) & 0xffff,
    sendCq: getQpContextSendCqn(view, 0),
    receiveCq: getQpContextReceiveCqn(view, 0),
    srq: data?.qp.srq?.number ?? null,
  };
}

/** `unread` goes by the consumer index that was read last. */
function describeCompletionQueue({ number, count, context }: MthcaCompletionQueue): Row {
  const { status, notification, logEntries, consumerIndex } = context;
  return {
    ...nothing,
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
    ...nothing,
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
