// SPDX-License-Identifier: Apache-2.0
/** A row of the table of commands (command-table.ts), and how it is written. */
import { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { HcaState } from '../hca/hca.ts';
import type { CommandHandler } from './command-context.ts';

/** One command: what must have been started, least lengths in bytes, and what executes it. */
export interface CommandRow {
  readonly opcode: number;
  readonly needs: HcaState;
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly handler: CommandHandler;
}

export function row(
  opcode: number,
  needs: HcaState,
  inputBytes: number,
  outputBytes: number,
  handler: CommandHandler,
): CommandRow {
  return { opcode, needs, inputBytes, outputBytes, handler };
}

/** The row of a command without variants: its modifier is 0. */
export function plainRow(
  opcode: number,
  needs: HcaState,
  inputBytes: number,
  outputBytes: number,
  handler: CommandHandler,
): CommandRow {
  return row(opcode, needs, inputBytes, outputBytes, (context) =>
    context.modifier === 0 ? handler(context) : CommandStatus.BAD_PARAMETER,
  );
}
