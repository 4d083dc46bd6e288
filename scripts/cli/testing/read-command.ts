// SPDX-License-Identifier: Apache-2.0
/**
 * Reads a call of `vuhca` as main.ts does, and performs nothing. Called by tests of arguments and
 * of the examples in the help.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { makeProgram } from '../program.ts';

/** The command, with its options and arguments. Rejects with UsageError for mistakes. */
export async function readCommand(...words: readonly string[]): Promise<CliCommand> {
  let called: CliCommand | undefined;
  const program = makeProgram(async (command) => {
    called = command;
  });
  await program.parseAsync(words, { from: 'user' });
  if (called === undefined) throw new Error(`no command was called by ${words.join(' ')}`);
  return called;
}
