// SPDX-License-Identifier: Apache-2.0
/**
 * Notes packets that a receiver drops for a queue pair it knows (IBTA 9.6): with their sender, as
 * far as the packet says, so that `vuhca trace` tells it in the story of the sender's message.
 */
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import { noteStep, Step } from '../function/timeline.ts';
import type { PacketDrop } from '../function/timeline-values.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** `sourceQpn`: of a datagram. Returns false, as receivers do for a packet that they drop. */
export function noteDrop(
  qp: QueuePair,
  { psn, slid, opcode }: Readonly<ParsedPacket>,
  cause: PacketDrop,
  sourceQpn = 0,
): false {
  noteStep(qp, Step.PACKET_DROPPED, psn, cause, slid, sourceQpn, opcode);
  return false;
}
