// SPDX-License-Identifier: Apache-2.0
/**
 * Check of what a doorbell or a collected copy announces: the tail, the commands of the send queue,
 * their address handles (docs/HAZARDS.md, "What a doorbell announces"). Software has to store all
 * of it before, so it is compared when the doorbell arrives and again when the adapter reads it.
 * Called by admission and fetcher while the option `orderCheck` is on.
 */
import { ADDRESS_HANDLE_SIZE } from '../../../protocol/layout/gen/address-handle.gen.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getQueuePairRecordSendTail,
  QUEUE_PAIR_RECORD_SEND_TAIL_BYTES,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  getSendCommandCollectLength,
  getSendCommandSequence,
  SEND_COMMAND_SEQUENCE_MASK,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { getUdTargetAddressHandle } from '../../../protocol/layout/gen/ud-target.gen.ts';
import { FaultKind, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { isCommandLength } from '../collect/collected-command.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { AnnouncedMemory } from '../function/announced-memory.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendSlots } from '../queues/send-slots.ts';

const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

/** A doorbell or a copy names command `sequence`: that and all that the tail shows is announced. */
export function announceCommands(announced: AnnouncedMemory, qp: QueuePair, sequence: number): void {
  // In ERR a doorbell is about receive WQEs, and names any number.
  if (qp.sendSlots === undefined || (qp.state !== QpState.RTS && qp.state !== QpState.SQD)) return;
  const { entries, recordAddress } = qp.sendSlots;
  qp.owner.dma.at(recordAddress);
  const record = announced.look(QUEUE_PAIR_RECORD_SEND_TAIL_BYTES);
  if (record === undefined) return;
  const tail = getQueuePairRecordSendTail(record, 0);
  if (isBefore(qp.nextSequence, sequence) && !isBefore(sequence + 1, tail))
    announced.doubt('tail', qp, sequence, QUEUE_PAIR_RECORD_SEND_TAIL_BYTES, (now) =>
      isBefore(sequence + 1, getQueuePairRecordSendTail(now, 0)),
    );
  const posted = distance(qp.nextSequence, tail);
  if (posted > entries) return;
  for (let ahead = 0; ahead < posted; ahead++)
    noteCommand(announced, qp, qp.sendSlots, (qp.nextSequence + ahead) & SEND_COMMAND_SEQUENCE_MASK);
}

/** A collected copy is executed: its slot is not read, and has to hold the same command. */
export function compareCopy(announced: AnnouncedMemory, qp: QueuePair, copy: PhysicalCollectBuffer): void {
  const sequence = getSendCommandSequence(copy.view, 0);
  announced.drop('command', qp, sequence);
  const slot = lookAtSlot(announced, qp, sequence, copy.collectLength);
  if (slot === undefined) return;
  for (let at = 0; at < copy.collectLength; at++)
    if (slot.getUint8(at) !== copy.bytes[at]) return doubtCommand(announced, qp, sequence, copy.collectLength);
}

/** A command was read from its slot, with `fault`. */
export function compareFetched(announced: AnnouncedMemory, qp: QueuePair, fetched: PhysicalCollectBuffer): void {
  const { bytes, fault } = fetched;
  const { nextSequence: sequence } = qp;
  if (fault === FaultKind.DMA_READ) announced.drop('command', qp, sequence);
  const isPart = fault === FaultKind.COMMAND_SEQUENCE || fault === FaultKind.COLLECT_BAD_LENGTH;
  const lengthBytes = isPart ? COMMAND_HEADER_BYTES : fetched.collectLength;
  const isLate = announced.take('command', qp, sequence, bytes, lengthBytes);
  if (isLate || fault === FaultKind.NONE || qp.state !== QpState.RTS) return;
  if (lookAtSlot(announced, qp, sequence, lengthBytes) !== undefined)
    doubtCommand(announced, qp, sequence, lengthBytes);
}

/** Keeps a command with its address handle, as they are now, unless they are kept. */
function noteCommand(announced: AnnouncedMemory, qp: QueuePair, slots: SendSlots, sequence: number): void {
  if (announced.has('command', qp, sequence)) return;
  const head = lookAtSlot(announced, qp, sequence, COMMAND_HEADER_BYTES);
  if (head === undefined) return;
  const length = getSendCommandCollectLength(head, 0);
  const handle = getUdTargetAddressHandle(head, SEND_COMMAND_TARGET_OFFSET);
  const lengthBytes = isCommandLength(length) && length <= slots.strideBytes ? length : COMMAND_HEADER_BYTES;
  if (lookAtSlot(announced, qp, sequence, lengthBytes) === undefined) return;
  announced.note('command', qp, sequence, lengthBytes);
  const { addressHandleTable, addressHandleCount, dma } = qp.owner;
  if (qp.serviceType !== ServiceType.UD || handle >= addressHandleCount) return;
  dma.at(addressHandleTable + handle * ADDRESS_HANDLE_SIZE);
  if (announced.look(ADDRESS_HANDLE_SIZE) !== undefined)
    announced.note('address handle', qp, sequence, ADDRESS_HANDLE_SIZE);
}

/** A slot keeps its number until the command is done, so another number is that of a later lap. */
function doubtCommand(announced: AnnouncedMemory, qp: QueuePair, sequence: number, lengthBytes: number): void {
  announced.doubt('command', qp, sequence, lengthBytes, (now) => getSendCommandSequence(now, 0) === sequence);
}

function lookAtSlot(announced: AnnouncedMemory, qp: QueuePair, sequence: number, lengthBytes: number) {
  qp.sendSlots?.at(qp.owner.dma, sequence);
  return announced.look(lengthBytes);
}

/** Numbers from `from` up to `to`. */
function distance(from: number, to: number): number {
  return (to - from) & SEND_COMMAND_SEQUENCE_MASK;
}

/** True when `number` is `limit` or before it. */
function isBefore(number: number, limit: number): boolean {
  return distance(number, limit) < HALF_SEQUENCE;
}
