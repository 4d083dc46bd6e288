// SPDX-License-Identifier: Apache-2.0
/** Completion queue: create, modify, query, destroy. IBTA 11.2.5. */
import { COMPLETION_ENTRY_SIZE } from '../../protocol/layout/gen/completion-entry.gen.ts';
import { COMPLETION_QUEUE_MAX_LOG2 } from '../../protocol/layout/gen/constants.gen.ts';
import {
  CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET,
  CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  CQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET,
  type CqAttributes,
  decodeCqAttributes,
  encodeCqAttributes,
  newCqAttributes,
} from '../../protocol/layout/gen/cq-attributes.gen.ts';
import { CqMask, ManagementStatus } from '../../protocol/layout/gen/values.gen.ts';
import { CompletionQueue } from '../queues/completion-queue.ts';
import type { EventQueue } from '../queues/event-queue.ts';
import type { CommandContext } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const RECORD_ALIGNMENT = 8;
const KNOWN_MASK = CqMask.EVENT_QUEUE | CqMask.MODERATION | CqMask.RESIZE;

const request: CqAttributes = newCqAttributes();

export function createCompletionQueue(context: CommandContext): ManagementStatus {
  const { adapter, owner } = context;
  decodeCqAttributes(context.command, context.payload, request);
  if (request.entriesLog2 > COMPLETION_QUEUE_MAX_LOG2)
    return context.badField(CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, COMPLETION_QUEUE_MAX_LOG2);
  if (request.recordAddress % RECORD_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, CQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET);
  if (request.moderationCount > 0 || request.moderationPeriodUs > 0) return ManagementStatus.UNSUPPORTED;
  const eventQueue = findEventQueue(context);
  if (eventQueue === undefined && request.eventQueue !== 0) return badEventQueue(context);
  const memory = fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** request.entriesLog2 * COMPLETION_ENTRY_SIZE,
    entryBytes: COMPLETION_ENTRY_SIZE,
  });
  if (typeof memory === 'number') return memory;
  const queue = adapter.resources.completionQueues.add(
    owner,
    (number) => new CompletionQueue(number, owner, memory, request.recordAddress, request.entriesLog2),
  );
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(queue);
  attach(queue, eventQueue);
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

export function modifyCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeCqAttributes(context.command, context.payload, request);
  if ((request.attributeMask & ~KNOWN_MASK) !== 0)
    return context.badField(CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, KNOWN_MASK);
  if (request.attributeMask & (CqMask.MODERATION | CqMask.RESIZE)) return ManagementStatus.UNSUPPORTED;
  if ((request.attributeMask & CqMask.EVENT_QUEUE) === 0) return ManagementStatus.OK;
  const eventQueue = findEventQueue(context);
  if (eventQueue === undefined && request.eventQueue !== 0) return badEventQueue(context);
  queue.detach();
  attach(queue, eventQueue);
  return ManagementStatus.OK;
}

export function queryCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  Object.assign(request, newCqAttributes());
  request.recordAddress = queue.recordAddress;
  request.queueAddress = queue.memory.addressOf(0);
  request.entriesLog2 = Math.log2(queue.entries);
  request.eventQueue = queue.eventQueue?.number ?? 0;
  request.producerCount = queue.producerCount;
  request.consumed = queue.consumed;
  request.notifyState = queue.notifyState;
  request.eqPending = queue.eqPending ? 1 : 0;
  request.error = queue.error ? 1 : 0;
  encodeCqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

export function destroyCompletionQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  queue.detach();
  context.adapter.resources.completionQueues.remove(queue);
  return ManagementStatus.OK;
}

function find(context: CommandContext): CompletionQueue | undefined {
  return context.own(context.adapter.resources.completionQueues.get(context.header.objectNumber));
}

function findEventQueue(context: CommandContext): EventQueue | undefined {
  return context.own(context.adapter.resources.eventQueues.get(request.eventQueue));
}

function badEventQueue(context: CommandContext): ManagementStatus {
  return context.badPayload(ManagementStatus.BAD_OBJECT, CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET);
}

function attach(queue: CompletionQueue, eventQueue: EventQueue | undefined): void {
  queue.eventQueue = eventQueue;
  if (eventQueue !== undefined) eventQueue.references++;
}
