// SPDX-License-Identifier: Apache-2.0
/** A row of the table of commands (command-table.ts). */
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
