// SPDX-License-Identifier: Apache-2.0
/**
 * The command line `vuhca`: has commander read the words, performs the command, and prints one line
 * for an error. Exit status: that of the command; 1 when it failed, 2 when it was called wrongly.
 */
import { CommanderError } from 'commander';
import { printable, printableLines } from '../../protocol/system/printable.mjs';
import { makeProgram } from './program.ts';

/**
 * Errors whose message is for users, by name: their classes are in modules that most commands do
 * not load.
 */
const sentences = new Set(['SetupError', 'VfioUserError', 'ControlError', 'RecordingError', 'LinkError']);

process.stdout.on('error', endWithoutReader);
process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  let status = 0;
  const program = makeProgram(async (command, load) => {
    const perform = await load();
    status = await perform(command);
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    // The help was printed; without a command it is an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    // `help` is about the command behind it.
    const name = words[0] === 'help' ? words[1] : words[0];
    return complain(program.commands.some((command) => command.name() === name) ? `vuhca ${name}` : 'vuhca', error);
  }
}

/**
 * Ends the process as the signal SIGPIPE, which Node.js ignores, ends other programs: in
 * `vuhca run --help | head -3` the reader has what it wants, and an error would only hide it.
 */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(128 + 13);
}

/** Prints one line for the error of a command; returns the exit status. */
function complain(command: string, error: unknown): number {
  // Set-up has a class of its own, which most commands do not load.
  if (error instanceof Error && error.name === 'UsageError') {
    const hint = `\`${command} --help\` lists the ${command === 'vuhca' ? 'commands' : 'options'}`;
    process.stderr.write(`${command}: ${printable(error.message.replaceAll('\n', ' '))} (${hint})\n`);
    return 2;
  }
  const { message, name, stack = message } = error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`${command}: ${printableLines(sentences.has(name) ? message : stack)}\n`);
  return 1;
}
