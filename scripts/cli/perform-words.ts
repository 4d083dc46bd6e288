// SPDX-License-Identifier: Apache-2.0
/**
 * Parses the words of a command line by commander, performs the command, and prints one sentence
 * for an error. Called by main.ts and tests.
 */
import { CommanderError } from 'commander';
import { describeSystemError } from '../../protocol/system/errno-words.mjs';
import { printable, printableLines } from '../../protocol/system/printable.mjs';
import { makeProgram } from './program.ts';
import { ExitStatus } from './session/exit-statuses.ts';

/**
 * Errors whose message is for users, by name: their classes are in modules that most commands do
 * not load.
 */
const sentences = new Set(['SetupError', 'VfioUserError', 'ControlError', 'RecordingError', 'LinkError', 'DoorError']);

/** Returns the exit status, which exit-statuses.ts lists. `complain` takes the text of an error. */
export async function performWords(words: readonly string[], complain: (text: string) => void): Promise<number> {
  let status: number = ExitStatus.DONE;
  const program = makeProgram(async (command, load) => {
    const perform = await load();
    status = await perform(command);
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    // The help was printed; without a command it is an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitStatus.DONE : ExitStatus.USAGE;
    // `help` is about the command after it.
    const name = words[0] === 'help' ? words[1] : words[0];
    const command = program.commands.some((one) => one.name() === name) ? `vuhca ${name}` : 'vuhca';
    complain(`${command}: ${describeError(command, error)}\n`);
    // Set-up has a class of its own, which most commands do not load.
    return error instanceof Error && error.name === 'UsageError' ? ExitStatus.USAGE : ExitStatus.FAILED;
  }
}

/** The sentence of an error that is for users or of the system, the stack of any other. */
function describeError(command: string, error: unknown): string {
  const { message, name, stack = message } = error instanceof Error ? error : new Error(String(error));
  if (name !== 'UsageError')
    return printableLines(sentences.has(name) ? message : (describeSystemError(error) ?? stack));
  const hint = `\`${command} --help\` lists the ${command === 'vuhca' ? 'commands' : 'options'}`;
  return `${printable(message.replaceAll('\n', ' '))} (${hint})`;
}
