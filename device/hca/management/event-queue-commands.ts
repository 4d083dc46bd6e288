// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that create, modify, query and destroy event queues, with delay, controls and
 * summary addresses (IPCOM000126453D par. 1-3).
 */
import { EVENT_QUEUE_MAX_LOG2, VECTOR_COUNT } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_ATTRIBUTES_SUMMARY_INDEX_BYTES } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import {
  decodeEqAttributes,
  EQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  EQ_ATTRIBUTES_CONTROLS_OFFSET,
  EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  EQ_ATTRIBUTES_ERROR_OFFSET,
  EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET,
  EQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  EQ_ATTRIBUTES_PRIMARY_SUMMARY_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_SECONDARY_SUMMARY_ADDRESS_OFFSET,
  EQ_ATTRIBUTES_SECONDARY_SUMMARY_COUNT_OFFSET,
  EQ_ATTRIBUTES_VECTOR_OFFSET,
  type EqAttributes,
  encodeEqAttributes,
  newEqAttributes,
} from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { EVENT_ENTRY_SIZE } from '../../../protocol/layout/gen/event-entry.gen.ts';
import { EqControl, EqMask, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { EventQueue } from '../events/event-queue.ts';
import { noteStep, Step } from '../function/timeline.ts';
import type { CommandContext } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const ALL_MASK = Object.values(EqMask).reduce((all, bit) => all | bit, 0);

const ALL_ONES = 0xffffffff;
const HALF_RANGE = 0x80000000;
/** The longest delay, as near as a Number represents it. */
const LONGEST_DELAY = 2 ** 63 - 1024;
/** Maximum number of secondary summary bytes of a queue: as many as a CQ can name. */
const SUMMARY_MAX = 2 ** (8 * CQ_ATTRIBUTES_SUMMARY_INDEX_BYTES);

const request: EqAttributes = newEqAttributes();

/** CREATE_EQ: checks ring, vector, delay and summary addresses, and allocates the EQ. */
export function createEventQueue(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  decodeEqAttributes(context.command, context.payload, request);
  if (request.entriesLog2 > EVENT_QUEUE_MAX_LOG2)
    return context.badField(EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, EVENT_QUEUE_MAX_LOG2);
  const status = checkVector(context) || checkControls(context) || checkDelay(context) || checkSummary(context);
  if (status !== ManagementStatus.OK) return status;
  const memory = fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: EQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** request.entriesLog2 * EVENT_ENTRY_SIZE,
    sizeOffset: EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
    entryBytes: EVENT_ENTRY_SIZE,
  });
  if (typeof memory === 'number') return memory;
  const queue = adapter.tables.eventQueues.add(
    issuer,
    (number) => new EventQueue(number, issuer, memory, request.entriesLog2),
  );
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  queue.vector = request.vector;
  queue.controls = request.controls;
  setDelay(queue);
  setSummary(queue);
  context.label(queue);
  setAsynchronous(queue, request.asynchronous === 1);
  noteStep(queue, Step.EQ_BEGIN);
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

/** MODIFY_EQ: changes the attributes that the mask names. */
export function modifyEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeEqAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~ALL_MASK) !== 0) return context.badField(EQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, ALL_MASK);
  const status =
    (mask & EqMask.VECTOR ? checkVector(context) : ManagementStatus.OK) ||
    (mask & EqMask.CONTROLS ? checkControls(context) : ManagementStatus.OK) ||
    (mask & EqMask.DELAY ? checkDelay(context) : ManagementStatus.OK) ||
    (mask & EqMask.SUMMARY ? checkSummary(context) : ManagementStatus.OK) ||
    (mask & EqMask.ERROR ? checkError(context) : ManagementStatus.OK);
  if (status !== ManagementStatus.OK) return status;
  if (mask & EqMask.VECTOR) queue.vector = request.vector;
  if (mask & EqMask.CONTROLS) queue.controls = request.controls;
  if (mask & EqMask.DELAY) setDelay(queue);
  if (mask & EqMask.SUMMARY) setSummary(queue);
  if (mask & EqMask.ASYNCHRONOUS) setAsynchronous(queue, request.asynchronous === 1);
  if (mask & EqMask.ERROR) queue.revive();
  return ManagementStatus.OK;
}

/** QUERY_EQ: returns the attributes of the EQ. */
export function queryEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  Object.assign(request, newEqAttributes());
  request.queueAddress = queue.memory.address;
  request.entriesLog2 = Math.log2(queue.entries);
  request.asynchronous = queue.asynchronous ? 1 : 0;
  request.vector = queue.vector;
  request.controls = queue.controls;
  request.nextInterruptDelayNsLow = queue.timer.delayLow;
  request.nextInterruptDelayNsHigh = queue.timer.delayHigh;
  request.nextInterruptTimeLow = queue.timer.stampLow;
  request.nextInterruptTimeHigh = queue.timer.stampHigh;
  request.primarySummaryAddress = queue.primarySummaryAddress;
  request.secondarySummaryAddress = queue.secondarySummaryAddress;
  request.secondarySummaryCount = queue.secondarySummaryCount;
  request.interrupts = queue.interrupts;
  request.unresponsive = queue.unresponsive;
  request.producerCount = queue.producerCount;
  request.consumed = queue.consumed;
  request.completionEventCounter = queue.completionEventCounter;
  request.error = queue.error ? 1 : 0;
  encodeEqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** DESTROY_EQ: frees an EQ that no CQ uses. */
export function destroyEventQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  setAsynchronous(queue, false);
  context.adapter.tables.eventQueues.remove(queue);
  queue.owner.counters.retiredEvents += queue.producerCount;
  return ManagementStatus.OK;
}

function find(context: CommandContext): EventQueue | undefined {
  return context.own(context.adapter.tables.eventQueues.get(context.header.objectNumber));
}

function checkVector(context: CommandContext): ManagementStatus {
  if (request.vector >= VECTOR_COUNT) return context.badField(EQ_ATTRIBUTES_VECTOR_OFFSET, VECTOR_COUNT - 1);
  return ManagementStatus.OK;
}

function checkControls(context: CommandContext): ManagementStatus {
  if (request.controls > EqControl.INTERRUPT)
    return context.badField(EQ_ATTRIBUTES_CONTROLS_OFFSET, EqControl.INTERRUPT);
  return ManagementStatus.OK;
}

/**
 * Time stamps are compared by their signed difference: a delay of 2^63 or more could not be
 * distinguished from the past. All ones is a special value, not a delay.
 */
function checkDelay(context: CommandContext): ManagementStatus {
  const { nextInterruptDelayNsHigh: high, nextInterruptDelayNsLow: low } = request;
  const isPollOnly = high === ALL_ONES && low === ALL_ONES;
  if (high >= HALF_RANGE && !isPollOnly)
    return context.badField(EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET, LONGEST_DELAY);
  return ManagementStatus.OK;
}

/**
 * Summary bytes must be writable when they are named; memory that disappears later is a bus fault
 * at that time.
 */
function checkSummary(context: CommandContext): ManagementStatus {
  const { primarySummaryAddress, secondarySummaryAddress, secondarySummaryCount } = request;
  if (primarySummaryAddress !== 0 && !isMapped(context, primarySummaryAddress, 1))
    return context.badPayload(ManagementStatus.BAD_ADDRESS, EQ_ATTRIBUTES_PRIMARY_SUMMARY_ADDRESS_OFFSET);
  if (secondarySummaryCount > SUMMARY_MAX)
    return context.badField(EQ_ATTRIBUTES_SECONDARY_SUMMARY_COUNT_OFFSET, SUMMARY_MAX);
  if (secondarySummaryCount > 0 && !isMapped(context, secondarySummaryAddress, secondarySummaryCount))
    return context.badPayload(ManagementStatus.BAD_ADDRESS, EQ_ATTRIBUTES_SECONDARY_SUMMARY_ADDRESS_OFFSET);
  return ManagementStatus.OK;
}

/** Software ends an error; it cannot cause one. */
function checkError(context: CommandContext): ManagementStatus {
  return request.error === 0 ? ManagementStatus.OK : context.badField(EQ_ATTRIBUTES_ERROR_OFFSET, 0);
}

function isMapped(context: CommandContext, address: number, lengthBytes: number): boolean {
  return context.issuer.dma.at(address).read(context, lengthBytes, new Uint8Array(lengthBytes), 0);
}

function setDelay(queue: EventQueue): void {
  queue.timer.delayLow = request.nextInterruptDelayNsLow;
  queue.timer.delayHigh = request.nextInterruptDelayNsHigh;
}

function setSummary(queue: EventQueue): void {
  queue.primarySummaryAddress = request.primarySummaryAddress;
  queue.secondarySummaryAddress = request.secondarySummaryAddress;
  queue.secondarySummaryCount = request.secondarySummaryCount;
}

/**
 * The queue that was last set to take asynchronous events takes them; a queue that gives them up
 * leaves none.
 */
function setAsynchronous(queue: EventQueue, on: boolean): void {
  const { owner } = queue;
  queue.asynchronous = on;
  if (on) {
    if (owner.asynchronousQueue !== undefined && owner.asynchronousQueue !== queue)
      owner.asynchronousQueue.asynchronous = false;
    owner.asynchronousQueue = queue;
  } else if (owner.asynchronousQueue === queue) owner.asynchronousQueue = undefined;
}
