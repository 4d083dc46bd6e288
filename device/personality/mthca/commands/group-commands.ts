// SPDX-License-Identifier: Apache-2.0
/** Commands of the multicast table. The input modifier is the index of an entry. */
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import { GROUP_ENTRY_SIZE } from '../../../../protocol/mthca/gen/group-entry.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { MthcaCommandContext } from './command-context.ts';

export function readGroup(context: MthcaCommandContext): CommandStatus {
  const { groups } = context.hca;
  if (!groups.has(context.modifier)) return CommandStatus.BAD_INDEX;
  groups.read(context.modifier, context.output);
  return context.writeOutput(GROUP_ENTRY_SIZE);
}

export function writeGroup(context: MthcaCommandContext): CommandStatus {
  const { groups } = context.hca;
  if (!groups.has(context.modifier)) return CommandStatus.BAD_INDEX;
  const status = context.readInput(GROUP_ENTRY_SIZE);
  if (status === CommandStatus.OK) groups.write(context.modifier, context.input);
  return status;
}

/** MGID_HASH returns an index. */
export function hashGroup(context: MthcaCommandContext): CommandStatus {
  const status = context.readInput(GID_SIZE);
  if (status === CommandStatus.OK) context.resultLow = context.hca.groups.hash(context.input);
  return status;
}
