// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show queues`: every QP, CQ and SRQ by its number, with its state, the number of its next
 * entry, and the queues that it is tied to (IBTA 10.2.4, 10.2.6, 10.2.9); `vuhca show completions`:
 * CQs only, which are fewer, and what they have of it. `vuhca status --qp` shows one QP in full.
 */
import { notifyStateName, qpStateName } from '../../../../protocol/layout/gen/values.gen.ts';
import type { CompletionQueue } from '../../queues/completion-queue.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { SharedReceiveQueue } from '../../queues/shared-receive-queue.ts';
import { type Row, type ShownAdapter, serviceOf } from './rows.ts';

/** QPs, then CQs, then SRQs. */
export function showQueues({ adapter }: ShownAdapter): Row[] {
  const { queuePairs, completionQueues, sharedReceiveQueues } = adapter.tables;
  return [
    ...sorted(queuePairs).map(describeQueuePair),
    ...sorted(completionQueues).map(describeCompletionQueue),
    ...sorted(sharedReceiveQueues).map(describeSharedQueue),
  ];
}

/** The columns that a CQ has. */
export function showCompletions({ adapter }: ShownAdapter): Row[] {
  return sorted(adapter.tables.completionQueues).map((cq) => asCompletions(describeCompletionQueue(cq)));
}

/** Of a row of the view `queues` about a CQ: the same in the view `completions`. */
export function asCompletions(row: Row): Row {
  const { number, function: owner, state, entries, next, unread, eq = null, eqPending = null } = row;
  return { cq: number, function: owner, state, entries, next, unread, eq, eqPending };
}

/** The objects of a table in the order of their numbers. */
export function sorted<T extends { readonly number: number }>(table: {
  forEach(visit: (object: T) => void): void;
}): T[] {
  const found: T[] = [];
  table.forEach((object) => {
    found.push(object);
  });
  return found.sort((a, b) => a.number - b.number);
}

const nothing = {
  queue: '',
  number: 0,
  function: 0,
  process: null,
  state: null,
  service: null,
  level: null,
  entries: 0,
  next: 0,
  inFlight: null,
  unread: null,
  sendCq: null,
  receiveCq: null,
  srq: null,
  eq: null,
  eqPending: null,
} as const;

/** `process`: of the guest, if its driver names one. `next`: the command to be admitted next. */
function describeQueuePair(qp: QueuePair): Row {
  return {
    ...nothing,
    queue: 'QP',
    number: qp.number,
    function: qp.owner.number,
    process: qp.creation.process === 0 ? null : qp.creation.process,
    state: qpStateName(qp.state),
    service: serviceOf(qp),
    level: qp.qosLevel,
    entries: qp.sendSlots?.entries ?? null,
    next: qp.nextSequence,
    inFlight: qp.inFlight,
    sendCq: qp.sendCq.number,
    receiveCq: qp.receiveCq.number,
    srq: qp.srq?.number ?? null,
  };
}

/** `next`: the CQE to be posted next. `unread` goes by the consumer count that was read last. */
function describeCompletionQueue(cq: CompletionQueue): Row {
  return {
    ...nothing,
    queue: 'CQ',
    number: cq.number,
    function: cq.owner.number,
    state: cq.error ? 'ERROR' : notifyStateName(cq.notifyState),
    entries: cq.entries,
    next: cq.producerCount,
    unread: (cq.producerCount - cq.consumed) >>> 0,
    eq: cq.eventQueue?.number ?? null,
    eqPending: cq.eqPending,
  };
}

/** `next`: the WQE to be taken next. `unread` goes by the tail that was read last. */
function describeSharedQueue(srq: SharedReceiveQueue): Row {
  const { number, owner, ring, limit } = srq;
  return {
    ...nothing,
    queue: 'SRQ',
    number,
    function: owner.number,
    state: limit === 0 ? 'UNARMED' : 'ARMED',
    entries: ring.entries,
    next: ring.head,
    unread: ring.known,
    receiveCq: srq.xrc?.cq.number ?? null,
  };
}
