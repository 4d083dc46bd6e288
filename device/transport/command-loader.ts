// SPDX-License-Identifier: Apache-2.0
/**
 * Checks a launched command of a connected QP and loads its payload or its scatter/gather list into
 * its record (IBTA 10.8.2, 11.4.1.1; US 8,484,392 par. 118-119). Called once per command by
 * `ConnectedTransport`. Faults of the command itself are reported here, faults of keys where they
 * are found.
 */
import { COMMAND_HEADER_BYTES, MESSAGE_MAX_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandCollectLength, getSendCommandSgeCount } from '../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { KeyLookup } from '../protection/key-lookup.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { RequestKind, requestKind } from './requester-opcodes.ts';
import type { SendRecord } from './send-record.ts';

const ATOMIC_BYTES = 8;

export class CommandLoader {
  readonly #keys: KeyLookup;

  constructor(keys: KeyLookup) {
    this.#keys = keys;
  }

  /** Fills `record`; its `fault` is NONE or forbids execution. */
  load(qp: QueuePair, record: SendRecord, buffer: PhysicalCollectBuffer): void {
    record.load(buffer);
    record.kind = requestKind(qp.serviceType, record.opcode);
    record.list.clear();
    record.fault = buffer.fault;
    if (record.fault !== FaultKind.NONE) return;
    const fault = this.#loadPayload(qp, record, buffer);
    if (fault === FaultKind.NONE) return;
    record.fault = fault;
    if (isOfCommand(fault)) qp.owner.faults.report(fault, qp, record.sequence);
  }

  #loadPayload(qp: QueuePair, record: SendRecord, buffer: PhysicalCollectBuffer): FaultKind {
    const { kind } = record;
    if (kind === RequestKind.NONE) return FaultKind.COMMAND_OPCODE;
    if (kind === RequestKind.LOCAL) {
      record.loadHeader(buffer.bytes);
      return FaultKind.NONE;
    }
    if (record.messageLength > MESSAGE_MAX_BYTES) return FaultKind.COMMAND_LENGTH;
    if (record.inline) {
      const isPlain = !record.isFetch && getSendCommandSgeCount(buffer.view, 0) === 0;
      return isPlain ? loadInline(record, buffer) : FaultKind.COMMAND_SGE;
    }
    const fault = loadList(record, buffer, kind === RequestKind.ATOMIC);
    if (fault !== FaultKind.NONE) return fault;
    return record.list.check(qp, this.#keys, record.isFetch ? AccessFlag.LOCAL_WRITE : 0);
  }
}

function loadInline(record: SendRecord, buffer: PhysicalCollectBuffer): FaultKind {
  const room = getSendCommandCollectLength(buffer.view, 0) - COMMAND_HEADER_BYTES;
  if (record.messageLength > room) return FaultKind.COMMAND_LENGTH;
  record.inlineBytes.set(buffer.bytes.subarray(COMMAND_HEADER_BYTES, COMMAND_HEADER_BYTES + record.messageLength));
  return FaultKind.NONE;
}

function loadList(record: SendRecord, { view }: PhysicalCollectBuffer, isAtomic: boolean): FaultKind {
  if (isAtomic) {
    const room = getSendCommandCollectLength(view, 0) - COMMAND_HEADER_BYTES;
    const isWhole = getSendCommandSgeCount(view, 0) === 1 && record.messageLength === ATOMIC_BYTES;
    if (!isWhole || room < 2 * ATOMIC_BYTES) return FaultKind.COMMAND_SGE;
    record.loadAtomicOperands(view);
  }
  return record.list.loadCommand(view) ? FaultKind.NONE : FaultKind.COMMAND_SGE;
}

function isOfCommand(fault: FaultKind): boolean {
  return fault === FaultKind.COMMAND_OPCODE || fault === FaultKind.COMMAND_SGE || fault === FaultKind.COMMAND_LENGTH;
}
