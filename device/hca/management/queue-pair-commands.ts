// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that modify, query and destroy queue pairs (IBTA 11.2.5);
 * queue-pair-creation.ts has the one that creates them.
 */
import { mtuBytes } from '../../../protocol/infiniband/mtu.ts';
import { PKEY_TABLE_ENTRIES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeQpAttributes,
  encodeQpAttributes,
  newQpAttributes,
  QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET,
  QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  QP_ATTRIBUTES_CURRENT_STATE_OFFSET,
  QP_ATTRIBUTES_MAX_READS_INITIATED_OFFSET,
  QP_ATTRIBUTES_MAX_READS_SERVED_OFFSET,
  QP_ATTRIBUTES_PATH_MTU_OFFSET,
  QP_ATTRIBUTES_PKEY_INDEX_OFFSET,
  QP_ATTRIBUTES_PORT_OFFSET,
  QP_ATTRIBUTES_STATE_OFFSET,
  type QpAttributes,
} from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import {
  encodeQpCreation,
  QP_CREATION_SIZE,
  setQpCreationTokenHigh,
  setQpCreationTokenLow,
} from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { ManagementStatus, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { joinPort } from '../../../protocol/layout/port-number.ts';
import { capacities } from '../queues/object-tables.ts';
import { findTransition } from '../queues/qp-transitions.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { type AddressVector, copyAddressVector, writeAddressVector } from './address-vector.ts';
import type { CommandContext } from './command-context.ts';
import type { ManagedAdapter } from './managed-adapter.ts';

/** Path migration is not offered. */
const UNSUPPORTED_MASK = QpMask.ALTERNATE_PATH | QpMask.MIGRATION_STATE;
const MTU_CODE_MAX = 5;

const attributes: QpAttributes = newQpAttributes();

/** The address vectors of connections as software wrote them, for QUERY_QP. */
const addressVectors = new WeakMap<QueuePair, AddressVector>();
const VECTOR_IN_ANSWER = QP_CREATION_SIZE + QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET;

/** MODIFY_QP: checks the transition and every attribute, then changes attributes and state. */
export function modifyQueuePair(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  decodeQpAttributes(context.command, context.payload, attributes);
  attributes.port = joinPort(attributes.port, attributes.portHigh);
  const mask = attributes.attributeMask;
  if (mask & UNSUPPORTED_MASK)
    return context.badPayload(ManagementStatus.UNSUPPORTED, QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET);
  const next = mask & QpMask.STATE ? (attributes.state as QpState) : qp.state;
  if (next > QpState.ERR) return context.badField(QP_ATTRIBUTES_STATE_OFFSET, QpState.ERR);
  if (mask & QpMask.CURRENT_STATE && attributes.currentState !== qp.state)
    return context.badPayload(ManagementStatus.BAD_STATE, QP_ATTRIBUTES_CURRENT_STATE_OFFSET);
  const rules = findTransition(qp.creation.serviceType, qp.state, next);
  if (rules === undefined) {
    // Without its mask bit the state is ignored: the mask is at fault.
    const blamed = mask & QpMask.STATE ? QP_ATTRIBUTES_STATE_OFFSET : QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET;
    return context.badPayload(ManagementStatus.BAD_STATE, blamed);
  }
  const allowed = rules.required | rules.optional | QpMask.STATE;
  if ((mask & rules.required) !== rules.required || (mask & ~allowed) !== 0)
    return context.badField(QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, allowed);
  const status = checkAttributes(context, mask) || checkConnection(context, mask);
  if (status !== ManagementStatus.OK) return status;
  if (mask & QpMask.ADDRESS_VECTOR) {
    if (!loadPath(context, qp)) return context.badField(QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET);
    addressVectors.set(qp, copyAddressVector(context.command, context.payload + QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET));
  }
  applyAttributes(qp, mask);
  applyConnection(context.adapter, qp, mask);
  if (mask & QpMask.STATE)
    context.adapter.engine.life.changeState(
      qp,
      next,
      (mask & QpMask.SQD_NOTIFY) !== 0 && attributes.enableSqdNotify === 1,
    );
  if (mask & QpMask.STATE && next === QpState.RTR) context.adapter.traces.onReady?.(qp);
  return ManagementStatus.OK;
}

/** QUERY_QP: returns the creation and the present attributes of the QP. */
export function queryQueuePair(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  encodeQpCreation(context.responseView, 0, qp.creation);
  setQpCreationTokenLow(context.responseView, 0, qp.tokenLow);
  setQpCreationTokenHigh(context.responseView, 0, qp.tokenHigh);
  Object.assign(attributes, qp.attributes);
  attributes.state = qp.state;
  attributes.currentState = qp.state;
  attributes.sendPsn = qp.sendPsn;
  attributes.attributeMask = 0;
  encodeQpAttributes(context.responseView, QP_CREATION_SIZE, attributes);
  const vector = addressVectors.get(qp);
  if (vector !== undefined) writeAddressVector(context.responseView, VECTOR_IN_ANSWER, vector);
  return ManagementStatus.OK;
}

/** DESTROY_QP: ends all work of the QP and frees it. */
export function destroyQueuePair(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  context.adapter.engine.life.destroy(qp);
  return ManagementStatus.OK;
}

function find(context: CommandContext): QueuePair | undefined {
  return context.own(context.adapter.tables.queuePairs.get(context.header.objectNumber));
}

function checkAttributes(context: CommandContext, mask: number): ManagementStatus {
  const portCount = context.managed.ports.length;
  if (mask & QpMask.PORT && (attributes.port < 1 || attributes.port > portCount))
    return context.badField(QP_ATTRIBUTES_PORT_OFFSET, portCount);
  if (mask & QpMask.PKEY_INDEX && attributes.pkeyIndex >= PKEY_TABLE_ENTRIES)
    return context.badField(QP_ATTRIBUTES_PKEY_INDEX_OFFSET, PKEY_TABLE_ENTRIES - 1);
  return ManagementStatus.OK;
}

function checkConnection(context: CommandContext, mask: number): ManagementStatus {
  const mtuLimit = Math.min(context.managed.ports[0].maxMtuCode, MTU_CODE_MAX);
  if (mask & QpMask.PATH_MTU && (attributes.pathMtu < 1 || attributes.pathMtu > mtuLimit))
    return context.badField(QP_ATTRIBUTES_PATH_MTU_OFFSET, mtuLimit);
  if (mask & QpMask.MAX_READS_INITIATED && attributes.maxReadsInitiated > capacities.readsPerQueuePair)
    return context.badField(QP_ATTRIBUTES_MAX_READS_INITIATED_OFFSET, capacities.readsPerQueuePair);
  if (mask & QpMask.MAX_READS_SERVED && attributes.maxReadsServed > capacities.readsPerQueuePair)
    return context.badField(QP_ATTRIBUTES_MAX_READS_SERVED_OFFSET, capacities.readsPerQueuePair);
  return ManagementStatus.OK;
}

function applyAttributes(qp: QueuePair, mask: number): void {
  const target = qp.attributes;
  if (mask & QpMask.PORT) {
    target.port = attributes.port;
    target.portHigh = attributes.portHigh;
  }
  if (mask & QpMask.PKEY_INDEX) target.pkeyIndex = attributes.pkeyIndex;
  if (mask & QpMask.QKEY) target.qkey = attributes.qkey;
  if (mask & QpMask.ACCESS) target.access = attributes.access;
  if (mask & QpMask.SEND_PSN) qp.sendPsn = attributes.sendPsn;
}

function applyConnection({ engine }: ManagedAdapter, qp: QueuePair, mask: number): void {
  const target = qp.attributes;
  if (mask & QpMask.REMOTE_QPN) target.remoteQpn = attributes.remoteQpn;
  if (mask & QpMask.RECEIVE_PSN) target.receivePsn = attributes.receivePsn;
  if (mask & QpMask.TIMEOUT) target.timeout = attributes.timeout;
  if (mask & QpMask.RETRY_COUNT) target.retryCount = attributes.retryCount;
  if (mask & QpMask.RNR_RETRY) target.rnrRetry = attributes.rnrRetry;
  if (mask & QpMask.MIN_RNR_TIMER) target.minRnrTimer = attributes.minRnrTimer;
  if (mask & QpMask.MAX_READS_INITIATED) target.maxReadsInitiated = attributes.maxReadsInitiated;
  if (mask & QpMask.MAX_READS_SERVED) {
    target.maxReadsServed = attributes.maxReadsServed;
    if (qp.state === QpState.SQD) engine.connected.resizeReads(qp, attributes.maxReadsServed);
  }
  if (mask & QpMask.PATH_MTU) {
    target.pathMtu = attributes.pathMtu;
    qp.pathMtuBytes = mtuBytes(attributes.pathMtu);
  }
}

/** Resolves the primary path, which uses the QP's port. */
function loadPath(context: CommandContext, qp: QueuePair): boolean {
  const base = context.payload + QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET;
  const port = context.managed.ports[qp.attributes.port - 1];
  return context.adapter.engine.connected.loadPath(qp, context.command, base, port);
}
