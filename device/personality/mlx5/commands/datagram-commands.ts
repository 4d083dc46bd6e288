// SPDX-License-Identifier: Apache-2.0
/**
 * MAD_IFC: hands a management datagram to the agents of a port and returns their answer. Where
 * ports are not virtual, software learns all about them this way; a subnet manager of the node
 * always reaches the node so.
 */

import { MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import {
  getMadIfcInPort,
  getMadIfcInRemoteLid,
  MAD_IFC_IN_MAD_OFFSET,
  MAD_IFC_IN_SIZE,
} from '../../../../protocol/mlx5/gen/mad-ifc-in.gen.ts';
import {
  MAD_IFC_OUT_RESPONSE_MAD_PACKET_OFFSET,
  MAD_IFC_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/mad-ifc-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { answerLocally } from '../../shared/local-datagrams.ts';
import { HcaState } from '../hca/hca.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';

/** Flags of the modifier: 1, no check of the M_Key; 2, none of the B_Key, which the agents lack. */
const IGNORE_MKEY = 1;
const MODIFIERS = 3;

function executeDatagram({ hca, view, input, output, modifier }: CommandContext): CommandStatus {
  const port = hca.portAt(getMadIfcInPort(view, 0));
  if (port === undefined || modifier > MODIFIERS) return CommandStatus.BAD_PARAMETER;
  const mad = input.subarray(MAD_IFC_IN_MAD_OFFSET, MAD_IFC_IN_MAD_OFFSET + MAD_BYTES);
  const origin = { slid: getMadIfcInRemoteLid(view, 0), ignoresKey: (modifier & IGNORE_MKEY) !== 0 };
  if (!answerLocally(hca.agents, port, mad, origin)) return CommandStatus.BAD_PACKET;
  output.set(mad, MAD_IFC_OUT_RESPONSE_MAD_PACKET_OFFSET);
  return CommandStatus.OK;
}

export const datagramCommands: readonly CommandRow[] = [
  row(CommandOpcode.MAD_IFC, HcaState.RUNNING, MAD_IFC_IN_SIZE, MAD_IFC_OUT_SIZE, executeDatagram),
];
