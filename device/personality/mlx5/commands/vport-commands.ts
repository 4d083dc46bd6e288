// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about virtual ports: context, GIDs and P_Keys of a port. A function knows its own ports
 * only. The heads of these commands name the port in the same places.
 */
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import { decodeHcaVportContext, newHcaVportContext } from '../../../../protocol/mlx5/gen/hca-vport-context.gen.ts';
import {
  MODIFY_HCA_VPORT_CONTEXT_IN_HCA_VPORT_CONTEXT_OFFSET,
  MODIFY_HCA_VPORT_CONTEXT_IN_SIZE,
} from '../../../../protocol/mlx5/gen/modify-hca-vport-context-in.gen.ts';
import { MODIFY_HCA_VPORT_CONTEXT_OUT_SIZE } from '../../../../protocol/mlx5/gen/modify-hca-vport-context-out.gen.ts';
import { PKEY_SIZE, setPkeyPkey } from '../../../../protocol/mlx5/gen/pkey.gen.ts';
import {
  getQueryHcaVportContextInOtherVport,
  getQueryHcaVportContextInPortNum,
  getQueryHcaVportContextInVportNumber,
  QUERY_HCA_VPORT_CONTEXT_IN_SIZE,
} from '../../../../protocol/mlx5/gen/query-hca-vport-context-in.gen.ts';
import {
  QUERY_HCA_VPORT_CONTEXT_OUT_HCA_VPORT_CONTEXT_OFFSET,
  QUERY_HCA_VPORT_CONTEXT_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-hca-vport-context-out.gen.ts';
import {
  getQueryHcaVportGidInGidIndex,
  QUERY_HCA_VPORT_GID_IN_SIZE,
} from '../../../../protocol/mlx5/gen/query-hca-vport-gid-in.gen.ts';
import {
  QUERY_HCA_VPORT_GID_OUT_SIZE,
  setQueryHcaVportGidOutGidsNum,
} from '../../../../protocol/mlx5/gen/query-hca-vport-gid-out.gen.ts';
import {
  getQueryHcaVportPkeyInPkeyIndex,
  QUERY_HCA_VPORT_PKEY_IN_SIZE,
} from '../../../../protocol/mlx5/gen/query-hca-vport-pkey-in.gen.ts';
import { QUERY_HCA_VPORT_PKEY_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-hca-vport-pkey-out.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  VportFieldSelect,
  VportStatePolicy,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { SOFTWARE_CAPABILITIES } from '../../../fabric/port/end-port.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import { HcaState } from '../hca/hca.ts';
import { describePort } from '../hca/port-view.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, plainRow } from './command-row.ts';

/** An index that stands for the whole table. */
const WHOLE_TABLE = 0xffff;
/** GUIDs are options of the device; the other fields can be selected. */
const SELECTABLE = (1 << VportFieldSelect.STATE_POLICY) | (1 << VportFieldSelect.CAP_MASK1);

const wanted = newHcaVportContext();

/** The port that a command is about. Software of a device with one port does not name it. */
function portOf({ hca, view }: CommandContext): PersonalityPort | undefined {
  const isOwn =
    getQueryHcaVportContextInOtherVport(view, 0) === 0 && getQueryHcaVportContextInVportNumber(view, 0) === 0;
  const number = getQueryHcaVportContextInPortNum(view, 0);
  return isOwn ? hca.portAt(number === 0 && hca.ports.length === 1 ? 1 : number) : undefined;
}

function queryContext(context: CommandContext): CommandStatus {
  const port = portOf(context);
  if (port === undefined) return CommandStatus.BAD_PARAMETER;
  describePort(port, context.hca.agents.node, context.output, QUERY_HCA_VPORT_CONTEXT_OUT_HCA_VPORT_CONTEXT_OFFSET);
  return CommandStatus.OK;
}

/**
 * Changes bits of CapabilityMask that stand for software. Software that changes no other field
 * selects none, and the bits that it means are those of `capMask1FieldSelect`.
 */
function modifyContext(context: CommandContext): CommandStatus {
  const port = portOf(context);
  if (port === undefined) return CommandStatus.BAD_PARAMETER;
  decodeHcaVportContext(context.view, MODIFY_HCA_VPORT_CONTEXT_IN_HCA_VPORT_CONTEXT_OFFSET, wanted);
  const { fieldSelect, vportStatePolicy, capMask1, capMask1FieldSelect, capMask2FieldSelect } = wanted;
  if ((fieldSelect & ~SELECTABLE) !== 0) return CommandStatus.BAD_PARAMETER;
  const selectsPolicy = (fieldSelect & (1 << VportFieldSelect.STATE_POLICY)) !== 0;
  if (selectsPolicy && vportStatePolicy !== VportStatePolicy.FOLLOW) return CommandStatus.BAD_PARAMETER;
  if ((capMask1FieldSelect & ~SOFTWARE_CAPABILITIES) !== 0 || capMask2FieldSelect !== 0)
    return CommandStatus.BAD_PARAMETER;
  const others = port.subnet.capabilityMask & ~capMask1FieldSelect;
  port.setCapabilities((others | (capMask1 & capMask1FieldSelect)) >>> 0);
  return CommandStatus.OK;
}

/** Where an index begins in a table of `entries`, and how many entries it stands for; 0: none. */
function rangeOf(index: number, entries: number): readonly [first: number, count: number] {
  if (index === WHOLE_TABLE) return [0, entries];
  return [index, index < entries ? 1 : 0];
}

function queryGids(context: CommandContext): CommandStatus {
  const { view, output, outputView, outputBytes } = context;
  const port = portOf(context);
  if (port === undefined) return CommandStatus.BAD_PARAMETER;
  const [first, count] = rangeOf(getQueryHcaVportGidInGidIndex(view, 0), port.gids.length / GID_SIZE);
  if (count === 0) return CommandStatus.BAD_INDEX;
  if (outputBytes < QUERY_HCA_VPORT_GID_OUT_SIZE + count * GID_SIZE) return CommandStatus.BAD_OUTPUT_LENGTH;
  setQueryHcaVportGidOutGidsNum(outputView, 0, count);
  output.set(port.gids.subarray(first * GID_SIZE, (first + count) * GID_SIZE), QUERY_HCA_VPORT_GID_OUT_SIZE);
  return CommandStatus.OK;
}

function queryPkeys(context: CommandContext): CommandStatus {
  const { view, outputView, outputBytes } = context;
  const port = portOf(context);
  if (port === undefined) return CommandStatus.BAD_PARAMETER;
  const [first, count] = rangeOf(getQueryHcaVportPkeyInPkeyIndex(view, 0), port.pkeys.length);
  if (count === 0) return CommandStatus.BAD_INDEX;
  if (outputBytes < QUERY_HCA_VPORT_PKEY_OUT_SIZE + count * PKEY_SIZE) return CommandStatus.BAD_OUTPUT_LENGTH;
  for (let entry = 0; entry < count; entry++)
    setPkeyPkey(outputView, QUERY_HCA_VPORT_PKEY_OUT_SIZE + entry * PKEY_SIZE, port.pkeys[first + entry]);
  return CommandStatus.OK;
}

const { RUNNING } = HcaState;

export const vportCommands: readonly CommandRow[] = [
  plainRow(
    CommandOpcode.QUERY_HCA_VPORT_CONTEXT,
    RUNNING,
    QUERY_HCA_VPORT_CONTEXT_IN_SIZE,
    QUERY_HCA_VPORT_CONTEXT_OUT_SIZE,
    queryContext,
  ),
  plainRow(
    CommandOpcode.MODIFY_HCA_VPORT_CONTEXT,
    RUNNING,
    MODIFY_HCA_VPORT_CONTEXT_IN_SIZE,
    MODIFY_HCA_VPORT_CONTEXT_OUT_SIZE,
    modifyContext,
  ),
  plainRow(
    CommandOpcode.QUERY_HCA_VPORT_GID,
    RUNNING,
    QUERY_HCA_VPORT_GID_IN_SIZE,
    QUERY_HCA_VPORT_GID_OUT_SIZE,
    queryGids,
  ),
  plainRow(
    CommandOpcode.QUERY_HCA_VPORT_PKEY,
    RUNNING,
    QUERY_HCA_VPORT_PKEY_IN_SIZE,
    QUERY_HCA_VPORT_PKEY_OUT_SIZE,
    queryPkeys,
  ),
];
