// SPDX-License-Identifier: Apache-2.0
/**
 * The fields of a command block, from the record of a connected QP, from a send command, or from
 * the first packet of a received message (IPCOM000010133D par. 4). `QueuePairTrace` calls it
 * once per message. `at` is the first word of the block in `words`.
 */
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import {
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSequence,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Field } from './trace-ring.ts';
import type { TracedCommand } from './traced.ts';

/** MSN of a command that has sent no packet. */
export const NO_MESSAGE = -1;

const { OPCODE, RECEIVE, SEQUENCE, FIRST_PSN, LAST_PSN, REMOTE_QPN, REMOTE_LID, LENGTH, MSN } = Field;
const { WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, INVALIDATE, FLUSH, ATOMIC_WRITE } = OpcodeFlag;

/**
 * The send opcode with which the peer posted a received message, by the BTH opcode of a request
 * packet of it.
 */
export const messageOpcodes = Uint8Array.from(opcodeFlags, (flags, opcode) => {
  if (flags & READ_REQUEST) return SendOpcode.RDMA_READ;
  if (flags & WRITE) return flags & IMMEDIATE ? SendOpcode.RDMA_WRITE_IMMEDIATE : SendOpcode.RDMA_WRITE;
  if (flags & ATOMIC) return opcode === BthOpcode.RC_COMPARE_SWAP ? SendOpcode.COMPARE_SWAP : SendOpcode.FETCH_ADD;
  if (flags & FLUSH) return SendOpcode.FLUSH;
  if (flags & ATOMIC_WRITE) return SendOpcode.ATOMIC_WRITE;
  if (flags & INVALIDATE) return SendOpcode.SEND_INVALIDATE;
  return flags & IMMEDIATE ? SendOpcode.SEND_IMMEDIATE : SendOpcode.SEND;
});

/** A command of a connected QP. Without a packet its PSNs and its MSN are 0. */
export function describeRecord(
  words: Int32Array,
  at: number,
  record: TracedCommand,
  remoteQpn: number,
  remoteLid: number,
  msn: number,
): void {
  const isSent = msn !== NO_MESSAGE;
  words[at + OPCODE] = record.opcode;
  words[at + RECEIVE] = 0;
  words[at + SEQUENCE] = record.sequence;
  words[at + REMOTE_QPN] = remoteQpn;
  words[at + REMOTE_LID] = remoteLid;
  words[at + LENGTH] = record.messageLength;
  words[at + FIRST_PSN] = isSent ? record.firstPsn : 0;
  words[at + LAST_PSN] = isSent ? record.lastPsn : 0;
  words[at + MSN] = isSent ? msn : 0;
}

/** A command that ends within its launch; PSN and destination are 0 when no packet was sent. */
export function describeCommand(
  words: Int32Array,
  at: number,
  command: DataView,
  psn: number,
  remoteQpn: number,
  remoteLid: number,
): void {
  words[at + OPCODE] = getSendCommandOpcode(command, 0);
  words[at + RECEIVE] = 0;
  words[at + SEQUENCE] = getSendCommandSequence(command, 0);
  words[at + FIRST_PSN] = psn;
  words[at + LAST_PSN] = psn;
  words[at + REMOTE_QPN] = remoteQpn;
  words[at + REMOTE_LID] = remoteLid;
  words[at + LENGTH] = getSendCommandMessageLength(command, 0);
  words[at + MSN] = 0;
}

/** A received message, as far as its first packet shows it; `number` is that of its receive WQE. */
export function describeReceived(
  words: Int32Array,
  at: number,
  packet: Readonly<ParsedPacket>,
  number: number,
  msn: number,
  remoteQpn: number,
): void {
  words[at + OPCODE] = messageOpcodes[packet.opcode];
  words[at + RECEIVE] = 1;
  words[at + SEQUENCE] = number;
  words[at + FIRST_PSN] = packet.psn;
  words[at + LAST_PSN] = packet.psn;
  words[at + REMOTE_QPN] = remoteQpn;
  words[at + REMOTE_LID] = packet.slid;
  words[at + LENGTH] = packet.payloadLengthBytes;
  words[at + MSN] = msn;
}
