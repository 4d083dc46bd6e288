// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that create, modify (limit and size), query and destroy shared receive queues
 * (IBTA 11.2.3), also those of XRC domains (annex A14).
 */
import { RECEIVE_QUEUE_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeSrqAttributes,
  encodeSrqAttributes,
  newSrqAttributes,
  SRQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  SRQ_ATTRIBUTES_COMPLETION_QUEUE_OFFSET,
  SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
  SRQ_ATTRIBUTES_LIMIT_OFFSET,
  SRQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  SRQ_ATTRIBUTES_PD_OFFSET,
  SRQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
  SRQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET,
  SRQ_ATTRIBUTES_STRIDE_LOG2_OFFSET,
  SRQ_ATTRIBUTES_XRC_DOMAIN_OFFSET,
  type SrqAttributes,
} from '../../../protocol/layout/gen/srq-attributes.gen.ts';
import { ManagementStatus, SrqMask } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import { ReceiveRing } from '../queues/receive-ring.ts';
import { SharedReceiveQueue } from '../queues/shared-receive-queue.ts';
import type { XrcBinding } from '../queues/xrc-domain.ts';
import { type CommandContext, UNFINISHED } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const STRIDE_MIN_LOG2 = 5;
const STRIDE_MAX_LOG2 = 9;
const RECORD_ALIGNMENT = 8;
/** Attributes that can be modified. */
const OFFERED_MASK = SrqMask.LIMIT | SrqMask.RESIZE;

const request: SrqAttributes = newSrqAttributes();

/** CREATE_SRQ: checks ring, record and limit, and allocates the SRQ. */
export function createSharedReceiveQueue(context: CommandContext): ManagementStatus {
  decodeSrqAttributes(context.command, context.payload, request);
  const { tables } = context.adapter;
  const pd = context.own(tables.protectionDomains.get(request.pd));
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, SRQ_ATTRIBUTES_PD_OFFSET);
  const xrc = resolveXrc(context);
  if (typeof xrc === 'number') return xrc;
  if (request.entriesLog2 > RECEIVE_QUEUE_MAX_LOG2) return badLength(context);
  if (request.strideLog2 < STRIDE_MIN_LOG2 || request.strideLog2 > STRIDE_MAX_LOG2)
    return context.badField(SRQ_ATTRIBUTES_STRIDE_LOG2_OFFSET, STRIDE_MAX_LOG2);
  if (request.recordAddress % RECORD_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, SRQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET);
  if (request.limit > 2 ** request.entriesLog2)
    return context.badField(SRQ_ATTRIBUTES_LIMIT_OFFSET, 2 ** request.entriesLog2);
  const memory = fetchRing(context, request.strideLog2);
  if (typeof memory === 'number') return memory;
  const ring = new ReceiveRing(memory, request.entriesLog2, request.strideLog2, request.recordAddress);
  const build = (number: number): SharedReceiveQueue => new SharedReceiveQueue(number, pd, ring, xrc);
  const queue = tables.sharedReceiveQueues.add(context.issuer, build);
  if (queue === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(queue);
  queue.limit = request.limit;
  context.objectNumber = queue.number;
  return ManagementStatus.OK;
}

/** Domain and CQ of an XRC SRQ, which has both (IBTA annex A14); undefined of any other. */
function resolveXrc(context: CommandContext): XrcBinding | ManagementStatus | undefined {
  const { tables } = context.adapter;
  if (request.xrcDomain === 0)
    return request.completionQueue === 0 ? undefined : context.badField(SRQ_ATTRIBUTES_COMPLETION_QUEUE_OFFSET);
  const domain = context.own(tables.xrcDomains.get(request.xrcDomain));
  if (domain === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, SRQ_ATTRIBUTES_XRC_DOMAIN_OFFSET);
  const cq = context.own(tables.completionQueues.get(request.completionQueue));
  if (cq === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, SRQ_ATTRIBUTES_COMPLETION_QUEUE_OFFSET);
  return { domain, cq };
}

/**
 * MODIFY_SRQ: sets the limit, or moves the queue to a ring of another size; the limit event may
 * follow at once.
 */
export function modifySharedReceiveQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  decodeSrqAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~OFFERED_MASK) !== 0) return context.badField(SRQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, OFFERED_MASK);
  if (mask & SrqMask.RESIZE && request.entriesLog2 > RECEIVE_QUEUE_MAX_LOG2) return badLength(context);
  const entries = mask & SrqMask.RESIZE ? 2 ** request.entriesLog2 : queue.ring.entries;
  if (mask & SrqMask.LIMIT && request.limit > entries) return context.badField(SRQ_ATTRIBUTES_LIMIT_OFFSET, entries);
  if (mask & SrqMask.RESIZE) {
    const status = resize(context, queue, mask & SrqMask.LIMIT ? request.limit : queue.limit);
    if (status !== ManagementStatus.OK) return status;
  }
  if (mask & SrqMask.LIMIT) {
    queue.limit = request.limit;
    queue.checkLimit();
  }
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
  request.xrcDomain = queue.xrc?.domain.number ?? 0;
  request.completionQueue = queue.xrc?.cq.number ?? 0;
  encodeSrqAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** DESTROY_SRQ: frees an SRQ that no QP uses. */
export function destroySharedReceiveQueue(context: CommandContext): ManagementStatus {
  const queue = find(context);
  if (queue === undefined) return context.badObject();
  if (queue.references > 0) return ManagementStatus.IN_USE;
  if (queue.xrc !== undefined) closeQueue(context, queue);
  queue.release();
  context.adapter.tables.sharedReceiveQueues.remove(queue);
  return ManagementStatus.OK;
}

/** XRC targets lose the queue, also in the middle of a message, whose WQE does not complete. */
function closeQueue({ adapter }: CommandContext, queue: SharedReceiveQueue): void {
  adapter.tables.queuePairs.forEach((qp) => {
    if (qp.domain !== undefined && qp.srq === queue) adapter.engine.connected.closeQueue(qp);
  });
}

/** The ring that the request describes, or the status that says why there is none. */
function fetchRing(context: CommandContext, strideLog2: number): QueueMemory | ManagementStatus {
  return fetchQueueMemory(context, {
    address: request.queueAddress,
    addressOffset: SRQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    paged: request.paged === 1,
    pageShift: request.pageShift,
    pageShiftOffset: SRQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** (request.entriesLog2 + strideLog2),
    sizeOffset: SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
    entryBytes: 2 ** STRIDE_MIN_LOG2,
  });
}

/** Moves the queue to the ring of the request; `limit` is the one that it has afterwards. */
function resize(context: CommandContext, queue: SharedReceiveQueue, limit: number): ManagementStatus {
  const { ring } = queue;
  const memory = fetchRing(context, Math.log2(ring.strideBytes));
  if (typeof memory === 'number') return memory;
  ring.refresh(queue.owner, queue);
  // WQEs not yet taken must have room (IBTA 11.2.3.3). Here the limit is the least number of
  // entries.
  const least = Math.max(ring.known, limit);
  const entries = 2 ** request.entriesLog2;
  if (least > entries) return context.badField(SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, least);
  const move = context.progress.findMove(() => ring.moveTo(memory, entries));
  const moved = ring.resize(queue.owner, queue, move, memory, entries);
  if (moved === 'failed') return context.badPayload(ManagementStatus.BAD_ADDRESS, SRQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET);
  return moved === 'more' ? UNFINISHED : ManagementStatus.OK;
}

function badLength(context: CommandContext): ManagementStatus {
  return context.badField(SRQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET, RECEIVE_QUEUE_MAX_LOG2);
}

function find(context: CommandContext): SharedReceiveQueue | undefined {
  return context.own(context.adapter.tables.sharedReceiveQueues.get(context.header.objectNumber));
}
