// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that create, modify, query and destroy completion queues (IBTA 11.2.5); the
 * event queue and summary index of a CQ are those of IPCOM000126453D par. 2.
 */
import { COMPLETION_ENTRY_SIZE } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { COMPLETION_QUEUE_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  CQ_ATTRIBUTES_COLLECT_CONTEXT_OFFSET,
  CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET,
  CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  CQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET,
  type CqAttributes,
  decodeCqAttributes,
  encodeCqAttributes,
  newCqAttributes,
} from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { CqMask, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { EventQueue } from '../events/event-queue.ts';
import { noteStep, Step } from '../function/timeline.ts';
import { EventCause } from '../function/timeline-values.ts';
import { EntryMove } from '../memory/move-entries.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import { CompletionQueue } from '../queues/completion-queue.ts';
import { CompletionTimes } from '../queues/completion-times.ts';
import { type CommandContext, UNFINISHED } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const RECORD_ALIGNMENT = 8;
/** Attributes that can be modified. */
const OFFERED_MASK = CqMask.EVENT_QUEUE | CqMask.MODERATION | CqMask.RESIZE | CqMask.SUMMARY_INDEX;
const NS_PER_US = 1000;

const request: CqAttributes = newCqAttributes();

/** CREATE_CQ: checks ring, record and event queue, and allocates the CQ. */
export function createCompletionQueue(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  decodeCqAttributes(context.command, context.payload, request);
  if (request.recordAddress % RECORD_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, CQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET);
  const eventQueue = findEventQueue(context);
  if (eventQueue === undefined && request.eventQueue !== 0) return badEventQueue(context);
  if (eventQueue !== undefined && !hasRoom(eventQueue)) return refuseCrowd(context, eventQueue);
  const collectContext = context.own(adapter.tables.collectContexts.get(request.collectContext));
  if (collectContext === undefined && request.collectContext !== 0)
    return context.badPayload(ManagementStatus.BAD_OBJECT, CQ_ATTRIBUTES_COLLECT_CONTEXT_OFFSET);
  const memory = fetchRing(context);
  if (typeof memory === 'number') return memory;
  const queue = adapter.tables.completionQueues.add(
    issuer,
    (number) => new CompletionQueue(number, issuer, memory, request.recordAddress, request.entriesLog2),
  );
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(queue);
  queue.summaryIndex = request.summaryIndex;
  queue.collectContext = collectContext;
  if (collectContext !== undefined) collectContext.queues++;
  attach(queue, eventQueue);
  moderate(context, queue);
  noteStep(queue, Step.CQ_BEGIN);
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

/** MODIFY_CQ: changes event queue, summary index or moderation, or resizes the ring. */
export function modifyCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeCqAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~OFFERED_MASK) !== 0) return context.badField(CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, OFFERED_MASK);
  const eventQueue = findEventQueue(context);
  if (mask & CqMask.EVENT_QUEUE && eventQueue === undefined && request.eventQueue !== 0) return badEventQueue(context);
  if (mask & CqMask.EVENT_QUEUE && eventQueue !== undefined && eventQueue !== queue.eventQueue && !hasRoom(eventQueue))
    return refuseCrowd(context, eventQueue);
  if (mask & CqMask.RESIZE) {
    const status = resize(context, queue);
    if (status !== ManagementStatus.OK) return status;
  }
  if (mask & CqMask.SUMMARY_INDEX) queue.summaryIndex = request.summaryIndex;
  if (mask & CqMask.EVENT_QUEUE) {
    queue.detach();
    attach(queue, eventQueue);
  }
  if (mask & CqMask.MODERATION) moderate(context, queue);
  // An event that found no queue, or waited, goes to the new queue.
  if (mask & (CqMask.EVENT_QUEUE | CqMask.MODERATION)) queue.offerDue(EventCause.CHANGE);
  return ManagementStatus.OK;
}

/** QUERY_CQ: returns the attributes of the CQ. */
export function queryCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  Object.assign(request, newCqAttributes());
  request.recordAddress = queue.recordAddress;
  request.queueAddress = queue.memory.address;
  request.entriesLog2 = Math.log2(queue.entries);
  request.eventQueue = queue.eventQueue?.number ?? 0;
  request.summaryIndex = queue.summaryIndex;
  request.collectContext = queue.collectContext?.number ?? 0;
  request.moderationCount = queue.moderationCount;
  request.moderationPeriodUs = queue.moderationNs / NS_PER_US;
  request.producerCount = queue.producerCount;
  request.consumed = queue.consumed;
  request.notifyState = queue.notifyState;
  request.eqPending = queue.eqPending ? 1 : 0;
  request.error = queue.error ? 1 : 0;
  encodeCqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** DESTROY_CQ: frees a CQ that no QP uses. */
export function destroyCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  queue.detach();
  if (queue.collectContext !== undefined) queue.collectContext.queues--;
  context.adapter.tables.completionQueues.remove(queue);
  queue.owner.counters.retiredCompletions += queue.producerCount;
  return ManagementStatus.OK;
}

/** The ring that the request describes, or the status that says why there is none. */
function fetchRing(context: CommandContext): QueueMemory | ManagementStatus {
  if (request.entriesLog2 > COMPLETION_QUEUE_MAX_LOG2)
    return context.badField(CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, COMPLETION_QUEUE_MAX_LOG2);
  return fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** request.entriesLog2 * COMPLETION_ENTRY_SIZE,
    sizeOffset: CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
    entryBytes: COMPLETION_ENTRY_SIZE,
  });
}

function resize(context: CommandContext, queue: CompletionQueue): ManagementStatus {
  const memory = fetchRing(context);
  if (typeof memory === 'number') return memory;
  if (queue.error) return ManagementStatus.BAD_STATE;
  const entries = 2 ** request.entriesLog2;
  const unread = queue.countUnread();
  // CQEs not yet polled must have room (IBTA 11.2.5.3). Here the limit is the least number of
  // entries.
  if (unread > entries) return context.badField(CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, unread);
  const move = context.progress.findMove(() => new EntryMove(queue, { memory, entries }, COMPLETION_ENTRY_SIZE));
  const moved = queue.resize(move, memory, entries);
  if (moved === 'failed') return context.badPayload(ManagementStatus.BAD_ADDRESS, CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET);
  return moved === 'more' ? UNFINISHED : ManagementStatus.OK;
}

/** Sets the moderation of the request. Without a period no event waits. */
function moderate(context: CommandContext, queue: CompletionQueue): void {
  const { moderationCount, moderationPeriodUs } = request;
  const isModerated = moderationPeriodUs > 0;
  queue.moderation?.release(queue);
  queue.moderation = isModerated ? context.adapter.moderation : undefined;
  queue.completionTimes = isModerated ? (queue.completionTimes ?? new CompletionTimes()) : undefined;
  queue.moderationCount = moderationCount;
  queue.moderationNs = moderationPeriodUs * NS_PER_US;
}

function find(context: CommandContext): CompletionQueue | undefined {
  return context.own(context.adapter.tables.completionQueues.get(context.header.objectNumber));
}

function findEventQueue(context: CommandContext): EventQueue | undefined {
  return context.own(context.adapter.tables.eventQueues.get(request.eventQueue));
}

function badEventQueue(context: CommandContext): ManagementStatus {
  return context.badPayload(ManagementStatus.BAD_OBJECT, CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET);
}

function hasRoom(eventQueue: EventQueue): boolean {
  return eventQueue.references < eventQueue.queueLimit;
}

/** Refuses a CQ whose events could overrun the EQ. */
function refuseCrowd(context: CommandContext, eventQueue: EventQueue): ManagementStatus {
  return context.badPayload(ManagementStatus.NO_RESOURCES, CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET, eventQueue.queueLimit);
}

function attach(queue: CompletionQueue, eventQueue: EventQueue | undefined): void {
  queue.eventQueue = eventQueue;
  if (eventQueue !== undefined) eventQueue.references++;
}
