// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of management datagrams: MAD_IFC hands a datagram to the agents of the device and
 * returns their answer; CONF_SPECIAL_QP names the QPs of subnet management and general services.
 */
import { MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { answerLocally } from '../../shared/local-datagrams.ts';
import type { MthcaCommandContext } from './command-context.ts';

const PORT_MASK = 0xffff;
const LID_SHIFT = 16;
/** Flags of the opcode modifier: 1, no check of the M_Key; 2, of the B_Key; 4, origin follows. */
const IGNORE_MKEY = 1;
const MODIFIERS = 7;

export function executeDatagram(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier, register } = context;
  const port = hca.portAt(modifier & PORT_MASK);
  if (port === undefined) return CommandStatus.BAD_INDEX;
  if (register.opcodeModifier > MODIFIERS) return CommandStatus.BAD_OP;
  const read = context.readInput(MAD_BYTES);
  if (read !== CommandStatus.OK) return read;
  const mad = context.input.subarray(0, MAD_BYTES);
  const ignoresKey = (register.opcodeModifier & IGNORE_MKEY) !== 0;
  if (!answerLocally(hca.agents, port, mad, { slid: modifier >>> LID_SHIFT, ignoresKey }))
    return CommandStatus.BAD_PACKET;
  context.output.set(mad);
  return context.writeOutput(MAD_BYTES);
}

/** CONF_SPECIAL_QP: the input modifier is the QPN for port 1; that for port 2 follows. 0: none. */
export function nameSpecialQueuePair({ hca, modifier, register }: MthcaCommandContext): CommandStatus {
  const { specialQpns, ports, queuePairs } = hca;
  if (register.opcodeModifier >= specialQpns.length) return CommandStatus.BAD_OP;
  if (modifier !== 0 && !queuePairs.hasIndex(modifier + ports.length - 1)) return CommandStatus.BAD_INDEX;
  specialQpns[register.opcodeModifier] = modifier;
  return CommandStatus.OK;
}
