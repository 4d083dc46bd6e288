// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that create, modify (the limit), query and destroy shared receive queues
 * (IBTA 11.2.3).
 */
import { RECEIVE_QUEUE_MAX_LOG2 } from '../../protocol/layout/gen/constants.gen.ts';
import {
  decodeSrqAttributes,
  encodeSrqAttributes,
  newSrqAttributes,
  SRQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  SRQ_ATTRIBUTES_LIMIT_OFFSET,
  SRQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  SRQ_ATTRIBUTES_PD_OFFSET,
  SRQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  SRQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET,
  SRQ_ATTRIBUTES_STRIDE_LOG2_OFFSET,
  type SrqAttributes,
} from '../../protocol/layout/gen/srq-attributes.gen.ts';
import { ManagementStatus, SrqMask } from '../../protocol/layout/gen/values.gen.ts';
import { ReceiveRing } from '../queues/receive-ring.ts';
import { SharedReceiveQueue } from '../queues/shared-receive-queue.ts';
import type { CommandContext } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const STRIDE_MIN_LOG2 = 5;
const STRIDE_MAX_LOG2 = 9;
const RECORD_ALIGNMENT = 8;

const request: SrqAttributes = newSrqAttributes();

/** CREATE_SRQ: checks ring, record and limit, and allocates the SRQ. */
export function createSharedReceiveQueue(context: CommandContext): ManagementStatus {
  decodeSrqAttributes(context.command, context.payload, request);
  const { tables } = context.adapter;
  const pd = context.own(tables.protectionDomains.get(request.pd));
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, SRQ_ATTRIBUTES_PD_OFFSET);
  if (request.entriesLog2 > RECEIVE_QUEUE_MAX_LOG2)
    return context.badField(SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, RECEIVE_QUEUE_MAX_LOG2);
  if (request.strideLog2 < STRIDE_MIN_LOG2 || request.strideLog2 > STRIDE_MAX_LOG2)
    return context.badField(SRQ_ATTRIBUTES_STRIDE_LOG2_OFFSET, STRIDE_MAX_LOG2);
  if (request.recordAddress % RECORD_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, SRQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET);
  if (request.limit > 2 ** request.entriesLog2)
    return context.badField(SRQ_ATTRIBUTES_LIMIT_OFFSET, 2 ** request.entriesLog2);
  const memory = fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: SRQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: SRQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** (request.entriesLog2 + request.strideLog2),
    entryBytes: 2 ** STRIDE_MIN_LOG2,
  });
  if (typeof memory === 'number') return memory;
  const ring = new ReceiveRing(memory, request.entriesLog2, request.strideLog2, request.recordAddress);
  const queue = tables.sharedReceiveQueues.add(context.issuer, (number) => new SharedReceiveQueue(number, pd, ring));
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(queue);
  queue.limit = request.limit;
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

/** MODIFY_SRQ: sets the limit; the limit event may follow at once. */
export function modifySharedReceiveQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeSrqAttributes(context.command, context.payload, request);
  if ((request.attributeMask & ~SrqMask.LIMIT) !== 0)
    return context.badField(SRQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, SrqMask.LIMIT);
  if ((request.attributeMask & SrqMask.LIMIT) === 0) return ManagementStatus.OK;
  if (request.limit > queue.ring.entries) return context.badField(SRQ_ATTRIBUTES_LIMIT_OFFSET, queue.ring.entries);
  queue.limit = request.limit;
  queue.checkLimit();
  return ManagementStatus.OK;
}

/** QUERY_SRQ: returns the attributes and the head of the SRQ. */
export function querySharedReceiveQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  Object.assign(request, newSrqAttributes());
  request.pd = queue.pd.number;
  request.entriesLog2 = Math.log2(queue.ring.entries);
  request.strideLog2 = Math.log2(queue.ring.strideBytes);
  request.queueAddress = queue.ring.address;
  request.recordAddress = queue.ring.tailAddress;
  request.limit = queue.limit;
  request.head = queue.ring.head;
  encodeSrqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** DESTROY_SRQ: frees an SRQ that no QP uses. */
export function destroySharedReceiveQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  queue.release();
  context.adapter.tables.sharedReceiveQueues.remove(queue);
  return ManagementStatus.OK;
}

function find(context: CommandContext): SharedReceiveQueue | undefined {
  return context.own(context.adapter.tables.sharedReceiveQueues.get(context.header.objectNumber));
}
