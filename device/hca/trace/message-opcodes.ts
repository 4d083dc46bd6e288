// SPDX-License-Identifier: Apache-2.0
/**
 * Opcodes of received messages in their command blocks (IPCOM000010133D par. 4): the send opcode
 * with which the peer posted the message, as far as its packets show it.
 */
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';

const { WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, INVALIDATE, FLUSH, ATOMIC_WRITE } = OpcodeFlag;

/** Send opcode by the BTH opcode of a request packet of the message. */
export const messageOpcodes = Uint8Array.from(opcodeFlags, (flags, opcode) => {
  if (flags & READ_REQUEST) return SendOpcode.RDMA_READ;
  if (flags & WRITE) return flags & IMMEDIATE ? SendOpcode.RDMA_WRITE_IMMEDIATE : SendOpcode.RDMA_WRITE;
  if (flags & ATOMIC) return opcode === BthOpcode.RC_COMPARE_SWAP ? SendOpcode.COMPARE_SWAP : SendOpcode.FETCH_ADD;
  if (flags & FLUSH) return SendOpcode.FLUSH;
  if (flags & ATOMIC_WRITE) return SendOpcode.ATOMIC_WRITE;
  if (flags & INVALIDATE) return SendOpcode.SEND_INVALIDATE;
  return flags & IMMEDIATE ? SendOpcode.SEND_IMMEDIATE : SendOpcode.SEND;
});
