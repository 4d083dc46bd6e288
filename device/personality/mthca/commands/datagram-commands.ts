// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of management datagrams: MAD_IFC hands a datagram to the agents of the device and
 * returns their answer; CONF_SPECIAL_QP names the QPs of subnet management and general services.
 */
import { PERMISSIVE_LID } from '../../../../protocol/infiniband/addresses.ts';
import { DIRECTED_ROUTE_SMP_M_KEY_OFFSET } from '../../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  getMadHeaderManagementClass,
  getMadHeaderMethod,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, MadMethod } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { Taken } from '../../../fabric/agents/agents.ts';
import { generalAddress, type MadAddress, subnetAddress } from '../../../fabric/agents/mad-packet.ts';
import type { MthcaCommandContext } from './command-context.ts';

const PORT_MASK = 0xffff;
const LID_SHIFT = 16;
/** Flags of the opcode modifier: 1, no check of the M_Key; 2, of the B_Key; 4, origin follows. */
const IGNORE_MKEY = 1;
const MODIFIERS = 7;

export function executeDatagram(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier, register, inputView } = context;
  const portNumber = modifier & PORT_MASK;
  const port = hca.portAt(portNumber);
  if (port === undefined) return CommandStatus.BAD_INDEX;
  if (register.opcodeModifier > MODIFIERS) return CommandStatus.BAD_OP;
  const read = context.readInput(MAD_BYTES);
  if (read !== CommandStatus.OK) return read;
  const method = getMadHeaderMethod(inputView, 0);
  const address = originOf(context);
  const isVouched = address.isVl15 && (register.opcodeModifier & IGNORE_MKEY) !== 0;
  const taken = isVouched
    ? takeVouched(context, portNumber, address, port.subnet.mKey)
    : take(context, portNumber, address);
  // A repressed trap has no answer, and is not a bad packet either.
  if (taken !== 'answered' && method !== MadMethod.TRAP_REPRESS) return CommandStatus.BAD_PACKET;
  context.output.set(context.input.subarray(0, MAD_BYTES));
  return context.writeOutput(MAD_BYTES);
}

/** The agents answer in place, in the input. */
function take({ hca, input }: MthcaCommandContext, portNumber: number, address: MadAddress): Taken {
  return hca.agents.take(portNumber, address, input.subarray(0, MAD_BYTES), false);
}

/** Software of the node asks that the M_Key is not checked: the datagram gets that of the port. */
function takeVouched(
  context: MthcaCommandContext,
  portNumber: number,
  address: MadAddress,
  portKey: Uint8Array,
): Taken {
  const { input } = context;
  const end = DIRECTED_ROUTE_SMP_M_KEY_OFFSET + portKey.length;
  const given = input.slice(DIRECTED_ROUTE_SMP_M_KEY_OFFSET, end);
  input.set(portKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  const taken = take(context, portNumber, address);
  input.set(given, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  return taken;
}

/** CONF_SPECIAL_QP: the input modifier is the QPN for port 1; that for port 2 follows. 0: none. */
export function nameSpecialQueuePair({ hca, modifier, register }: MthcaCommandContext): CommandStatus {
  const { specialQpns, ports, queuePairs } = hca;
  if (register.opcodeModifier >= specialQpns.length) return CommandStatus.BAD_OP;
  if (modifier !== 0 && !queuePairs.hasIndex(modifier + ports.length - 1)) return CommandStatus.BAD_INDEX;
  specialQpns[register.opcodeModifier] = modifier;
  return CommandStatus.OK;
}

function originOf({ inputView, modifier }: MthcaCommandContext): MadAddress {
  const slid = modifier >>> LID_SHIFT || PERMISSIVE_LID;
  const managementClass = getMadHeaderManagementClass(inputView, 0);
  const isSubnet = managementClass === MadClass.SUBNET || managementClass === MadClass.SUBNET_DIRECTED_ROUTE;
  return isSubnet ? subnetAddress(slid, PERMISSIVE_LID) : generalAddress(slid, PERMISSIVE_LID);
}
