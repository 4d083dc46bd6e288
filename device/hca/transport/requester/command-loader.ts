// SPDX-License-Identifier: Apache-2.0
/**
 * Checks a command of a connected QP (IBTA 10.8.2, 11.4.1.1; US 8,484,392 par. 118-119). At launch
 * `ConnectedTransport` loads its payload or its scatter/gather list into its record. When the
 * message begins, the requester looks for a fault, of the keys too: requests before it may have
 * registered or invalidated them (IBTA 10.6.3.2, 10.6.5).
 */
import { COMMAND_HEADER_BYTES, MESSAGE_MAX_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandSgeCount } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { bytesBehindHeader, type PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { CHANGE_KEY } from '../../function/request-opcodes.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { ATOMIC_WRITE_BYTES, isPlacement, RequestKind, requestKind } from '../requester-opcodes.ts';
import type { SendRecord } from '../state/send-record.ts';

const ATOMIC_BYTES = 8;

/** Fills `record`; its `fault` is NONE or forbids execution. */
export function loadCommand(qp: QueuePair, record: SendRecord, buffer: PhysicalCollectBuffer, keys: KeyLookup): void {
  record.load(buffer);
  record.kind = requestKind(qp.serviceType, record.opcode);
  if (record.opcode === CHANGE_KEY && keys.perform === undefined) record.kind = RequestKind.NONE;
  record.list.clear();
  record.fault = buffer.fault;
  if (record.fault !== FaultKind.NONE) return;
  const fault = loadPayload(record, buffer);
  if (fault === FaultKind.NONE) return;
  record.fault = fault;
  if (isOfCommand(fault)) qp.owner.faults.report(fault, qp, record.sequence);
}

/** The fault that forbids the message of `record`, which has been reported; otherwise NONE. */
export function findFault(qp: QueuePair, record: SendRecord, keys: KeyLookup): FaultKind {
  if (record.fault !== FaultKind.NONE) return record.fault;
  const fault = record.list.check(qp, keys, record.responseBytes > 0 ? AccessFlag.LOCAL_WRITE : 0);
  // IBTA 11.2.5.2: without initiator depth a QP may not send READs and atomics at all.
  if (fault !== FaultKind.NONE || !record.isFetch || qp.attributes.maxReadsInitiated > 0) return fault;
  qp.owner.faults.report(FaultKind.COMMAND_OPCODE, qp, record.sequence);
  return FaultKind.COMMAND_OPCODE;
}

function loadPayload(record: SendRecord, buffer: PhysicalCollectBuffer): FaultKind {
  const { kind } = record;
  if (kind === RequestKind.NONE) return FaultKind.COMMAND_OPCODE;
  if (kind === RequestKind.LOCAL) {
    record.loadHeader(buffer.bytes);
    return FaultKind.NONE;
  }
  if (record.messageLength > MESSAGE_MAX_BYTES) return FaultKind.COMMAND_LENGTH;
  if (kind === RequestKind.FLUSH) return loadFlush(record, buffer);
  if (kind === RequestKind.ATOMIC_WRITE && record.messageLength !== ATOMIC_WRITE_BYTES) return FaultKind.COMMAND_LENGTH;
  if (record.inline) {
    const isPlain =
      kind !== RequestKind.READ && kind !== RequestKind.ATOMIC && getSendCommandSgeCount(buffer.view, 0) === 0;
    return isPlain ? loadInline(record, buffer) : FaultKind.COMMAND_SGE;
  }
  return loadList(record, buffer, kind === RequestKind.ATOMIC);
}

/** A FLUSH has no payload: its message length is that of the remote range. */
function loadFlush(record: SendRecord, { view }: PhysicalCollectBuffer): FaultKind {
  if (record.inline || getSendCommandSgeCount(view, 0) !== 0) return FaultKind.COMMAND_SGE;
  record.loadPlacement(view);
  return isPlacement(record.placementType, record.selectivity) ? FaultKind.NONE : FaultKind.COMMAND_OPCODE;
}

function loadInline(record: SendRecord, buffer: PhysicalCollectBuffer): FaultKind {
  if (record.messageLength > bytesBehindHeader(buffer.view)) return FaultKind.COMMAND_LENGTH;
  record.inlineBytes.set(buffer.bytes.subarray(COMMAND_HEADER_BYTES, COMMAND_HEADER_BYTES + record.messageLength));
  return FaultKind.NONE;
}

function loadList(record: SendRecord, { view }: PhysicalCollectBuffer, isAtomic: boolean): FaultKind {
  if (isAtomic) {
    const isWhole = getSendCommandSgeCount(view, 0) === 1 && record.messageLength === ATOMIC_BYTES;
    if (!isWhole || bytesBehindHeader(view) < 2 * ATOMIC_BYTES) return FaultKind.COMMAND_SGE;
    record.loadAtomicOperands(view);
  }
  return record.list.loadCommand(view) ? FaultKind.NONE : FaultKind.COMMAND_SGE;
}

function isOfCommand(fault: FaultKind): boolean {
  return fault === FaultKind.COMMAND_OPCODE || fault === FaultKind.COMMAND_SGE || fault === FaultKind.COMMAND_LENGTH;
}
