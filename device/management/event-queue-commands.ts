// SPDX-License-Identifier: Apache-2.0
/** Event queue: create, modify, query, destroy. */
import { EVENT_QUEUE_MAX_LOG2, VECTOR_COUNT } from '../../protocol/layout/gen/constants.gen.ts';
import {
  decodeEqAttributes,
  EQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  EQ_ATTRIBUTES_CONTROLS_OFFSET,
  EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET,
  EQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  EQ_ATTRIBUTES_PRIMARY_SUMMARY_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_SECONDARY_SUMMARY_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_VECTOR_OFFSET,
  type EqAttributes,
  encodeEqAttributes,
  newEqAttributes,
} from '../../protocol/layout/gen/eq-attributes.gen.ts';
import { EVENT_ENTRY_SIZE } from '../../protocol/layout/gen/event-entry.gen.ts';
import { EqControl, EqMask, ManagementStatus } from '../../protocol/layout/gen/values.gen.ts';
import { EventQueue } from '../queues/event-queue.ts';
import type { CommandContext } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const ALL_MASK = Object.values(EqMask).reduce((all, bit) => all | bit, 0);

const request: EqAttributes = newEqAttributes();

export function createEventQueue(context: CommandContext): ManagementStatus {
  const { adapter, owner } = context;
  decodeEqAttributes(context.command, context.payload, request);
  if (request.entriesLog2 > EVENT_QUEUE_MAX_LOG2)
    return context.badField(EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, EVENT_QUEUE_MAX_LOG2);
  const status = checkVector(context) || checkControls(context) || checkTimers(context);
  if (status !== ManagementStatus.OK) return status;
  const memory = fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: EQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** request.entriesLog2 * EVENT_ENTRY_SIZE,
    entryBytes: EVENT_ENTRY_SIZE,
  });
  if (typeof memory === 'number') return memory;
  const queue = adapter.resources.eventQueues.add(
    owner,
    (number) => new EventQueue(number, owner, memory, request.entriesLog2),
  );
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  queue.vector = request.vector;
  queue.controls = request.controls;
  context.label(queue);
  setAsynchronous(queue, request.asynchronous === 1);
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

export function modifyEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeEqAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~ALL_MASK) !== 0) return context.badField(EQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, ALL_MASK);
  const status =
    (mask & EqMask.VECTOR ? checkVector(context) : ManagementStatus.OK) ||
    (mask & EqMask.CONTROLS ? checkControls(context) : ManagementStatus.OK) ||
    (mask & (EqMask.DELAY | EqMask.SUMMARY) ? checkTimers(context) : ManagementStatus.OK);
  if (status !== ManagementStatus.OK) return status;
  if (mask & EqMask.VECTOR) queue.vector = request.vector;
  if (mask & EqMask.CONTROLS) queue.controls = request.controls;
  if (mask & EqMask.ASYNCHRONOUS) setAsynchronous(queue, request.asynchronous === 1);
  return ManagementStatus.OK;
}

export function queryEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  Object.assign(request, newEqAttributes());
  request.queueAddress = queue.memory.addressOf(0);
  request.entriesLog2 = Math.log2(queue.entries);
  request.asynchronous = queue.asynchronous ? 1 : 0;
  request.vector = queue.vector;
  request.controls = queue.controls;
  request.producerCount = queue.producerCount;
  request.consumed = queue.consumed;
  request.completionEventCounter = queue.completionEventCounter;
  request.error = queue.error ? 1 : 0;
  encodeEqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

export function destroyEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  setAsynchronous(queue, false);
  context.adapter.resources.eventQueues.remove(queue);
  return ManagementStatus.OK;
}

function find(context: CommandContext): EventQueue | undefined {
  return context.own(context.adapter.resources.eventQueues.get(context.header.objectNumber));
}

function checkVector(context: CommandContext): ManagementStatus {
  if (request.vector >= VECTOR_COUNT) return context.badField(EQ_ATTRIBUTES_VECTOR_OFFSET, VECTOR_COUNT - 1);
  return ManagementStatus.OK;
}

function checkControls(context: CommandContext): ManagementStatus {
  if (request.controls > EqControl.INTERRUPT)
    return context.badField(EQ_ATTRIBUTES_CONTROLS_OFFSET, EqControl.INTERRUPT);
  if (request.controls === EqControl.PRIMARY_SUMMARY)
    return context.badPayload(ManagementStatus.UNSUPPORTED, EQ_ATTRIBUTES_CONTROLS_OFFSET);
  return ManagementStatus.OK;
}

/** Timers and summary bytes are announced by a capability this version does not have. */
function checkTimers(context: CommandContext): ManagementStatus {
  if (request.nextInterruptDelayNs !== 0)
    return context.badPayload(ManagementStatus.UNSUPPORTED, EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET);
  if (request.primarySummaryAddress !== 0)
    return context.badPayload(ManagementStatus.UNSUPPORTED, EQ_ATTRIBUTES_PRIMARY_SUMMARY_ADDRESS_OFFSET);
  if (request.secondarySummaryAddress !== 0)
    return context.badPayload(ManagementStatus.UNSUPPORTED, EQ_ATTRIBUTES_SECONDARY_SUMMARY_ADDRESS_OFFSET);
  return ManagementStatus.OK;
}

/** The queue that took asynchronous events last has them; giving them up leaves none. */
function setAsynchronous(queue: EventQueue, on: boolean): void {
  const { owner } = queue;
  queue.asynchronous = on;
  if (on) {
    if (owner.asynchronousQueue !== undefined && owner.asynchronousQueue !== queue)
      owner.asynchronousQueue.asynchronous = false;
    owner.asynchronousQueue = queue;
  } else if (owner.asynchronousQueue === queue) owner.asynchronousQueue = undefined;
}
