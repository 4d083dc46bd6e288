// SPDX-License-Identifier: Apache-2.0
/** All commands of the device, and the checks that all of them have in common. */
import { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { CommandContext } from './command-context.ts';
import type { CommandRow } from './command-row.ts';
import { completionQueueCommands } from './completion-queue-commands.ts';
import { datagramCommands } from './datagram-commands.ts';
import { domainCommands } from './domain-commands.ts';
import { eventQueueCommands } from './event-queue-commands.ts';
import { functionCommands } from './function-commands.ts';
import { groupCommands } from './group-commands.ts';
import { memoryKeyCommands } from './memory-key-commands.ts';
import { registerCommands } from './port-commands.ts';
import { queuePairCommands } from './queue-pair-commands.ts';
import { sharedReceiveQueueCommands } from './shared-receive-queue-commands.ts';
import { vportCommands } from './vport-commands.ts';

const KERNEL = 0;

const rows: ReadonlyMap<number, CommandRow> = new Map(
  [
    ...functionCommands,
    ...domainCommands,
    ...memoryKeyCommands,
    ...eventQueueCommands,
    ...completionQueueCommands,
    ...sharedReceiveQueueCommands,
    ...queuePairCommands,
    ...registerCommands,
    ...vportCommands,
    ...datagramCommands,
    ...groupCommands,
  ].map((row) => [row.opcode, row]),
);

/** Executes the command whose input `context` has. */
export function executeCommand(context: CommandContext): CommandStatus {
  if (context.hca.health.hasFailed) return CommandStatus.INTERNAL_ERROR;
  const row = rows.get(context.opcode);
  if (row === undefined) return CommandStatus.BAD_OPCODE;
  // There are no contexts of processes.
  if (context.owner !== KERNEL) return CommandStatus.BAD_RESOURCE;
  if (context.inputBytes < row.inputBytes) return CommandStatus.BAD_INPUT_LENGTH;
  if (context.outputBytes < row.outputBytes) return CommandStatus.BAD_OUTPUT_LENGTH;
  return context.hca.state < row.needs ? CommandStatus.BAD_SYSTEM_STATE : row.handler(context);
}
