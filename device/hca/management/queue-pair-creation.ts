// SPDX-License-Identifier: Apache-2.0
/**
 * The management command that creates queue pairs (IBTA 9.1, 11.2.5.1): checks sizes, service and
 * objects. QP0 and QP1 of a port belong to functions that manage the port. A QP with an SRQ has no
 * receive queue, nor has an XRC initiator. An XRC target has an XRC domain and neither work queues
 * nor CQs nor PD (annex A14).
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { RECEIVE_QUEUE_MAX_LOG2, SEND_QUEUE_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeQpCreation,
  newQpCreation,
  QP_CREATION_COLLECT_CONTEXT_OFFSET,
  QP_CREATION_DESCRIPTOR_ADDRESS_OFFSET,
  QP_CREATION_PD_OFFSET,
  QP_CREATION_RECEIVE_CQ_OFFSET,
  QP_CREATION_RECEIVE_ENTRIES_LOG2_OFFSET,
  QP_CREATION_RECEIVE_PAGE_SHIFT_OFFSET,
  QP_CREATION_RECEIVE_QUEUE_ADDRESS_OFFSET,
  QP_CREATION_RECEIVE_STRIDE_LOG2_OFFSET,
  QP_CREATION_RECORD_ADDRESS_OFFSET,
  QP_CREATION_SEND_CQ_OFFSET,
  QP_CREATION_SEND_ENTRIES_LOG2_OFFSET,
  QP_CREATION_SEND_PAGE_SHIFT_OFFSET,
  QP_CREATION_SEND_QUEUE_ADDRESS_OFFSET,
  QP_CREATION_SEND_STRIDE_LOG2_OFFSET,
  QP_CREATION_SERVICE_TYPE_OFFSET,
  QP_CREATION_SPECIAL_PORT_OFFSET,
  QP_CREATION_SRQN_OFFSET,
  QP_CREATION_XRC_DOMAIN_OFFSET,
  type QpCreation,
} from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { QUEUE_PAIR_RECORD_RECEIVE_TAIL_OFFSET } from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { ManagementStatus, ServiceType, serviceTypeNames } from '../../../protocol/layout/gen/values.gen.ts';
import { joinPort } from '../../../protocol/layout/port-number.ts';
import { ProtectionDomain } from '../protection/protection-domain.ts';
import { AbsentCompletionQueue, absentReceiveQueue } from '../queues/absent-queues.ts';
import { QueuePair, type QueuePairParts } from '../queues/queue-pair.ts';
import { ReceiveRing } from '../queues/receive-ring.ts';
import type { ReceiveSource } from '../queues/receive-source.ts';
import { SendSlots } from '../queues/send-slots.ts';
import type { CommandContext } from './command-context.ts';
import { fetchQueueMemory } from './queue-memory-request.ts';

const RECORD_ALIGNMENT = 16;
const DESCRIPTOR_ALIGNMENT = 32;
const SEND_STRIDE_MIN_LOG2 = 6;
const RECEIVE_STRIDE_MIN_LOG2 = 5;
const STRIDE_MAX_LOG2 = 9;

const offeredServices: readonly number[] = [
  ServiceType.RC,
  ServiceType.UC,
  ServiceType.UD,
  ServiceType.SMI,
  ServiceType.GSI,
  ServiceType.XRC_INITIATOR,
  ServiceType.XRC_TARGET,
];

/** A value, its range, and the offset of its field. */
type Range = readonly [number, number, number, number];

/** CREATE_QP: checks sizes, service and objects, allocates the QP and publishes its descriptor. */
export function createQueuePair(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  const creation = decodeQpCreation(context.command, context.payload, newQpCreation());
  creation.specialPort = joinPort(creation.specialPort, creation.specialPortHigh);
  const status = checkSizes(context, creation) || checkService(context, creation);
  if (status !== ManagementStatus.OK) return status;
  const isTarget = creation.serviceType === ServiceType.XRC_TARGET;
  const parts = isTarget ? resolveTarget(context, creation) : resolveParts(context, creation);
  if (typeof parts === 'number') return parts;
  const qp = adapter.tables.queuePairs.add(issuer, (number) => new QueuePair(number, issuer, creation, parts));
  if (qp === undefined) return ManagementStatus.NO_RESOURCES;
  context.progress.handOver();
  adapter.engine.connected.attach(qp);
  context.label(qp);
  if (!qp.isXrcTarget && !adapter.scheduler.unitOf(qp).descriptors.publish(qp)) {
    adapter.engine.life.destroy(qp);
    return context.badPayload(ManagementStatus.BAD_ADDRESS, QP_CREATION_DESCRIPTOR_ADDRESS_OFFSET);
  }
  if (qp.isSpecial) adapter.tables.specialQueuePairs.add(qp);
  context.objectNumber = qp.number;
  return ManagementStatus.OK;
}

function checkSizes(context: CommandContext, creation: QpCreation): ManagementStatus {
  // An XRC target has neither queues nor a record nor a descriptor.
  if (creation.serviceType === ServiceType.XRC_TARGET) return ManagementStatus.OK;
  const send: Range[] = [
    [creation.sendEntriesLog2, 0, SEND_QUEUE_MAX_LOG2, QP_CREATION_SEND_ENTRIES_LOG2_OFFSET],
    [creation.sendStrideLog2, SEND_STRIDE_MIN_LOG2, STRIDE_MAX_LOG2, QP_CREATION_SEND_STRIDE_LOG2_OFFSET],
  ];
  const receive: Range[] = [
    [creation.receiveEntriesLog2, 0, RECEIVE_QUEUE_MAX_LOG2, QP_CREATION_RECEIVE_ENTRIES_LOG2_OFFSET],
    [creation.receiveStrideLog2, RECEIVE_STRIDE_MIN_LOG2, STRIDE_MAX_LOG2, QP_CREATION_RECEIVE_STRIDE_LOG2_OFFSET],
  ];
  for (const [value, low, high, offset] of hasReceiveQueue(creation) ? [...send, ...receive] : send)
    if (value < low || value > high) return context.badField(offset, high);
  if (creation.recordAddress % RECORD_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, QP_CREATION_RECORD_ADDRESS_OFFSET);
  if (creation.descriptorAddress % DESCRIPTOR_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, QP_CREATION_DESCRIPTOR_ADDRESS_OFFSET);
  return ManagementStatus.OK;
}

/** Checks the service and, of SMI and GSI QPs, the port. */
function checkService(context: CommandContext, creation: QpCreation): ManagementStatus {
  if (!serviceTypeNames[creation.serviceType]) return context.badField(QP_CREATION_SERVICE_TYPE_OFFSET);
  if (!offeredServices.includes(creation.serviceType))
    return context.badPayload(ManagementStatus.UNSUPPORTED, QP_CREATION_SERVICE_TYPE_OFFSET);
  return checkSpecialPort(context, creation);
}

/** A port has one QP0 and one QP1. */
function checkSpecialPort(context: CommandContext, { serviceType, specialPort }: QpCreation): ManagementStatus {
  const { issuer, adapter, managed } = context;
  if (serviceType !== ServiceType.SMI && serviceType !== ServiceType.GSI)
    return specialPort === 0 ? ManagementStatus.OK : context.badField(QP_CREATION_SPECIAL_PORT_OFFSET);
  if (!managed.managesPorts) return context.badPayload(ManagementStatus.NOT_PERMITTED, QP_CREATION_SERVICE_TYPE_OFFSET);
  const portCount = managed.ports.length;
  if (specialPort < 1 || specialPort > portCount) return context.badField(QP_CREATION_SPECIAL_PORT_OFFSET, portCount);
  const wireNumber = serviceType === ServiceType.SMI ? SUBNET_MANAGEMENT_QPN : GENERAL_SERVICES_QPN;
  return adapter.tables.specialQueuePairs.get(issuer.portBase + specialPort - 1, wireNumber) === undefined
    ? ManagementStatus.OK
    : context.badPayload(ManagementStatus.IN_USE, QP_CREATION_SPECIAL_PORT_OFFSET);
}

/** Without one, as with an SRQ, the fields of the receive queue do not count. */
function hasReceiveQueue({ serviceType, srqn }: QpCreation): boolean {
  return serviceType !== ServiceType.XRC_INITIATOR && srqn === 0;
}

/** An XRC target names its XRC domain and no other object. */
function resolveTarget(context: CommandContext, creation: QpCreation): QueuePairParts | ManagementStatus {
  const { adapter, issuer } = context;
  const absent: [number, number][] = [
    [creation.pd, QP_CREATION_PD_OFFSET],
    [creation.sendCq, QP_CREATION_SEND_CQ_OFFSET],
    [creation.receiveCq, QP_CREATION_RECEIVE_CQ_OFFSET],
    [creation.srqn, QP_CREATION_SRQN_OFFSET],
    [creation.collectContext, QP_CREATION_COLLECT_CONTEXT_OFFSET],
  ];
  for (const [number, offset] of absent) if (number !== 0) return context.badField(offset);
  const domain = context.own(adapter.tables.xrcDomains.get(creation.xrcDomain));
  if (domain === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_XRC_DOMAIN_OFFSET);
  return {
    // No memory belongs to it: until a request names an SRQ, nothing can be accessed.
    pd: new ProtectionDomain(0, issuer),
    sendCq: new AbsentCompletionQueue(),
    receiveCq: new AbsentCompletionQueue(),
    sendSlots: undefined,
    receiveSource: absentReceiveQueue,
    srq: undefined,
    domain,
    life: adapter.engine.life,
  };
}

function resolveParts(context: CommandContext, creation: QpCreation): QueuePairParts | ManagementStatus {
  const { tables } = context.adapter;
  if (creation.xrcDomain !== 0) return context.badField(QP_CREATION_XRC_DOMAIN_OFFSET);
  const pd = context.own(tables.protectionDomains.get(creation.pd));
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_PD_OFFSET);
  const sendCq = context.own(tables.completionQueues.get(creation.sendCq));
  if (sendCq === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_SEND_CQ_OFFSET);
  const receives = resolveReceives(context, creation);
  if (typeof receives === 'number') return receives;
  const collectContext = context.own(tables.collectContexts.get(creation.collectContext));
  if (collectContext === undefined && creation.collectContext !== 0)
    return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_COLLECT_CONTEXT_OFFSET);
  const sendSlots = fetchSendSlots(context, creation);
  if (typeof sendSlots === 'number') return sendSlots;
  const receiveSource = fetchReceiveQueue(context, creation);
  if (typeof receiveSource === 'number') return receiveSource;
  return { pd, sendCq, ...receives, sendSlots, receiveSource, collectContext, life: context.adapter.engine.life };
}

/** CQ and SRQ of the receive queue. An XRC initiator names neither. */
function resolveReceives(
  context: CommandContext,
  { serviceType, receiveCq: cqn, srqn }: QpCreation,
): Pick<QueuePairParts, 'receiveCq' | 'srq'> | ManagementStatus {
  const { tables } = context.adapter;
  if (serviceType === ServiceType.XRC_INITIATOR) {
    if (cqn !== 0) return context.badField(QP_CREATION_RECEIVE_CQ_OFFSET);
    if (srqn !== 0) return context.badField(QP_CREATION_SRQN_OFFSET);
    return { receiveCq: new AbsentCompletionQueue(), srq: undefined };
  }
  const receiveCq = context.own(tables.completionQueues.get(cqn));
  if (receiveCq === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_RECEIVE_CQ_OFFSET);
  const srq = context.own(tables.sharedReceiveQueues.get(srqn));
  // Requests for an XRC SRQ come through XRC targets only.
  if ((srq === undefined && srqn !== 0) || srq?.xrc !== undefined)
    return context.badPayload(ManagementStatus.BAD_OBJECT, QP_CREATION_SRQN_OFFSET);
  return { receiveCq, srq };
}

function fetchSendSlots(context: CommandContext, creation: QpCreation): SendSlots | ManagementStatus {
  const memory = fetchQueueMemory(context, {
    address: creation.sendQueueAddress,
    addressOffset: QP_CREATION_SEND_QUEUE_ADDRESS_OFFSET,
    paged: creation.sendPaged === 1,
    pageShift: creation.sendPageShift,
    pageShiftOffset: QP_CREATION_SEND_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** (creation.sendEntriesLog2 + creation.sendStrideLog2),
    sizeOffset: QP_CREATION_SEND_ENTRIES_LOG2_OFFSET,
    entryBytes: 2 ** SEND_STRIDE_MIN_LOG2,
  });
  if (typeof memory === 'number') return memory;
  return new SendSlots(memory, creation.sendEntriesLog2, creation.sendStrideLog2, creation.recordAddress);
}

function fetchReceiveQueue(context: CommandContext, creation: QpCreation): ReceiveSource | ManagementStatus {
  if (!hasReceiveQueue(creation)) return absentReceiveQueue;
  const memory = fetchQueueMemory(context, {
    address: creation.receiveQueueAddress,
    addressOffset: QP_CREATION_RECEIVE_QUEUE_ADDRESS_OFFSET,
    paged: creation.receivePaged === 1,
    pageShift: creation.receivePageShift,
    pageShiftOffset: QP_CREATION_RECEIVE_PAGE_SHIFT_OFFSET,
    sizeBytes: 2 ** (creation.receiveEntriesLog2 + creation.receiveStrideLog2),
    sizeOffset: QP_CREATION_RECEIVE_ENTRIES_LOG2_OFFSET,
    entryBytes: 2 ** RECEIVE_STRIDE_MIN_LOG2,
  });
  if (typeof memory === 'number') return memory;
  const tailAddress = creation.recordAddress + QUEUE_PAIR_RECORD_RECEIVE_TAIL_OFFSET;
  return new ReceiveRing(memory, creation.receiveEntriesLog2, creation.receiveStrideLog2, tailAddress);
}
