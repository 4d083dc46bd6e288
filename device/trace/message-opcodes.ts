// SPDX-License-Identifier: Apache-2.0
/** What a received message is called in a trace: the send opcode it was posted with, as far as its packets tell. */
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../protocol/infiniband/opcodes.ts';
import { SendOpcode } from '../../protocol/layout/gen/values.gen.ts';

const { WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, INVALIDATE } = OpcodeFlag;

/** Operation of a message by the opcode of one of its request packets. */
export const messageOpcodes = Uint8Array.from(opcodeFlags, (flags, opcode) => {
  if (flags & READ_REQUEST) return SendOpcode.RDMA_READ;
  if (flags & WRITE) return flags & IMMEDIATE ? SendOpcode.RDMA_WRITE_IMMEDIATE : SendOpcode.RDMA_WRITE;
  if (flags & ATOMIC) return opcode === BthOpcode.RC_COMPARE_SWAP ? SendOpcode.COMPARE_SWAP : SendOpcode.FETCH_ADD;
  if (flags & INVALIDATE) return SendOpcode.SEND_INVALIDATE;
  return flags & IMMEDIATE ? SendOpcode.SEND_IMMEDIATE : SendOpcode.SEND;
});
