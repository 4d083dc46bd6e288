// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a traced message in the timeline: its packets and its end (IPCOM000010133D par. 1).
 * Each names the command block, so a story needs no search. `QueuePairTrace` calls them; without a
 * timeline each is one test of `undefined`.
 */
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import { type CompletionStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { noteStep, Step } from '../function/timeline.ts';
import type { PacketMove } from '../function/timeline-values.ts';
import type { TracedQueuePair } from './traced.ts';

const { PACKET, MESSAGE_END } = Step;
const { SEND } = SendOpcode;
const { ATOMIC_ACKNOWLEDGE } = OpcodeFlag;
const { UD_SEND_ONLY, UD_SEND_ONLY_WITH_IMMEDIATE } = BthOpcode;

/** Opcode and PSN of a packet. */
export interface PacketName {
  readonly opcode: number;
  readonly psn: number;
}

/** A packet of the message with command block `index`, with `bytes` of payload. */
export function notePacket(
  qp: TracedQueuePair,
  index: number,
  { opcode, psn }: PacketName,
  bytes: number,
  move: PacketMove,
): void {
  noteStep(qp, PACKET, index, psn, opcode, bytes, move);
}

/**
 * A packet of an answer, which a requester receives, or a responder sends once or again. The result
 * of an atomic is no payload.
 */
export function noteAnswer(
  qp: TracedQueuePair,
  index: number,
  name: PacketName,
  bytes: number,
  move: PacketMove,
): void {
  const payload = opcodeFlags[name.opcode] & ATOMIC_ACKNOWLEDGE ? 0 : bytes;
  notePacket(qp, index, name, payload, move);
}

/** A datagram was sent for a command. */
export function noteDatagram(qp: TracedQueuePair, index: number, opcode: number, psn: number, bytes: number): void {
  noteStep(qp, PACKET, index, psn, opcode === SEND ? UD_SEND_ONLY : UD_SEND_ONLY_WITH_IMMEDIATE, bytes);
}

/** The message has ended. */
export function noteEnd(qp: TracedQueuePair, index: number, status: CompletionStatus): void {
  noteStep(qp, MESSAGE_END, index, status);
}
