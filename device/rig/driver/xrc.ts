// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of XRC (IBTA annex A14): domains, XRC shared receive queues, initiators that
 * only send and targets that only receive. Tests and simulations create them with a `Driver`.
 */
import { QUEUE_PAIR_RECORD_SIZE } from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { SRQ_RECORD_SIZE } from '../../../protocol/layout/gen/srq-record.gen.ts';
import { ManagementOpcode, QpMask, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { Driver } from './driver.ts';
import { qpCreationPayload, srqPayload } from './payloads.ts';
import { DriverQueueBuffer } from './queue-buffer.ts';
import { memoryOf } from './queue-fields.ts';
import { type Connection, DriverQueuePair } from './queue-pair.ts';
import type { QueuePairRequest } from './requests.ts';
import { DriverSharedReceiveQueue } from './shared-receive-queue.ts';

const RECEIVE_STRIDE_LOG2 = 9;
const SEND_STRIDE_LOG2 = 9;

/** An XRC SRQ with its CQ. */
interface XrcQueueRequest {
  readonly pd: number;
  readonly domain: number;
  readonly cq: DriverCompletionQueue;
  readonly entriesLog2?: number;
  readonly limit?: number;
}

/** Attributes of a half of an XRC connection; `Connection` has the defaults of absent ones. */
export type XrcConnection = Omit<Connection, 'reliable'>;

export function createXrcDomain({ management }: Driver, token = 0): number {
  return management.perform({ opcode: ManagementOpcode.CREATE_XRC_DOMAIN, token }).objectNumber;
}

export function destroyXrcDomain({ management }: Driver, objectNumber: number): void {
  management.perform({ opcode: ManagementOpcode.DESTROY_XRC_DOMAIN, objectNumber });
}

export function createXrcQueue(driver: Driver, request: XrcQueueRequest): DriverSharedReceiveQueue {
  const { access, allocator, management } = driver;
  const { pd, domain, cq, entriesLog2 = 4, limit = 0 } = request;
  const buffer = DriverQueueBuffer.allocate(access, allocator, entriesLog2, RECEIVE_STRIDE_LOG2, false);
  const recordAddress = allocator.allocate(SRQ_RECORD_SIZE);
  const payload = srqPayload({
    pd,
    ...memoryOf(buffer),
    strideLog2: RECEIVE_STRIDE_LOG2,
    recordAddress,
    limit,
    xrcDomain: domain,
    completionQueue: cq.cqn,
  });
  const { objectNumber } = management.perform({ opcode: ManagementOpcode.CREATE_SRQ, payload });
  return new DriverSharedReceiveQueue(access, management, objectNumber, buffer, recordAddress);
}

/** A QP that only sends. */
export function createXrcInitiator(driver: Driver, request: QueuePairRequest): DriverQueuePair {
  const { creation } = request;
  return driver.createQueuePair({
    ...request,
    creation: { serviceType: ServiceType.XRC_INITIATOR, receiveCq: 0, ...creation },
  });
}

/** A QP that only receives. It has no memory; `unused` stands for its CQs. */
export function createXrcTarget(driver: Driver, domain: number, unused: DriverCompletionQueue): DriverQueuePair {
  const { access, allocator, management } = driver;
  const payload = qpCreationPayload({ serviceType: ServiceType.XRC_TARGET, xrcDomain: domain });
  const { objectNumber: qpn } = management.perform({ opcode: ManagementOpcode.CREATE_QP, payload });
  const buffer = DriverQueueBuffer.allocate(access, allocator, 0, SEND_STRIDE_LOG2, false);
  const address = allocator.allocate(QUEUE_PAIR_RECORD_SIZE);
  return new DriverQueuePair(access, management, {
    qpn,
    sendBuffer: buffer,
    receiveBuffer: buffer,
    recordAddress: address,
    descriptorAddress: address,
    sendCq: unused,
    receiveCq: unused,
    qosLevel: 0,
    checksumKey: 0,
    page: 0,
  });
}

/** Brings an initiator from RESET to RTS. */
export function connectInitiator(qp: DriverQueuePair, connection: XrcConnection): DriverQueuePair {
  qp.toConnectedInit({ ...connection, reliable: true });
  qp.toConnectedReceive({ ...connection, reliable: false });
  qp.toConnectedSend({ ...connection, reliable: true });
  return qp;
}

/** Brings a target from RESET to RTS, or to RTR, in which it already receives. */
export function connectTarget(qp: DriverQueuePair, connection: XrcConnection, toSend = true): DriverQueuePair {
  qp.toConnectedInit({ ...connection, reliable: true });
  qp.toConnectedReceive({ ...connection, reliable: true });
  const { sendPsn = 0, timeout = 14 } = connection;
  const attributeMask = QpMask.STATE | QpMask.SEND_PSN | QpMask.TIMEOUT;
  if (toSend) qp.change({ attributeMask, state: QpState.RTS, sendPsn, timeout });
  return qp;
}
