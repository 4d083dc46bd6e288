// SPDX-License-Identifier: Apache-2.0
//
// The command line `vuhca`: finds the command, reads its arguments, and turns what goes wrong into one sentence. Exit status:
// 0 done, 1 it failed, 2 it was called wrongly.

import { ControlError } from '../../device/main/control-path.ts';
import { RecordingError } from '../../device/main/recording-file.ts';
import { LinkError } from '../../device/main/socket-link.ts';
import { VfioUserError } from '../../protocol/vfio-user/index.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import { captureCommand } from './capture-command.ts';
import { type Command, readArguments, UsageError } from './command.ts';
import { deviceCommand } from './device-command.ts';
import { describeCommand, describeCommands } from './help.ts';
import { replayCommand } from './replay-command.ts';
import { resourcesCommand } from './resources-command.ts';
import { runCommand } from './run-command.ts';
import { statusCommand, topCommand } from './status-command.ts';
import { traceCommand } from './trace-command.ts';

/** Errors whose message is for the user. */
const sentences = [SetupError, VfioUserError, ControlError, RecordingError, LinkError];

const commands: readonly Command[] = [
  runCommand,
  deviceCommand,
  statusCommand,
  topCommand,
  resourcesCommand,
  captureCommand,
  traceCommand,
  replayCommand,
];

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? process.stderr : process.stdout).write(describeCommands(commands));
    return name === undefined ? 2 : 0;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    const known = commands.map((one) => one.name).join(', ');
    return complain(`vuhca: unknown command ${name}; the commands are ${known}`, 2);
  }
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (own.includes('--help') || own.includes('-h')) {
    process.stdout.write(describeCommand(command));
    return 0;
  }
  return perform(command, rest);
}

async function perform(command: Command, words: readonly string[]): Promise<number> {
  try {
    return await command.run(readArguments(command, words));
  } catch (error) {
    const prefix = `vuhca ${command.name}:`;
    if (error instanceof UsageError)
      return complain(`${prefix} ${error.message} (\`vuhca ${command.name} --help\` lists the options)`, 2);
    if (sentences.some((kind) => error instanceof kind)) return complain(`${prefix} ${(error as Error).message}`, 1);
    return complain(`${prefix} ${error instanceof Error ? (error.stack ?? error.message) : error}`, 1);
  }
}

function complain(sentence: string, status: number): number {
  process.stderr.write(`${sentence}\n`);
  return status;
}
