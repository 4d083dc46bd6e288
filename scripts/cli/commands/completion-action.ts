// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca completion`: prints a script for a shell, from the arguments and options that
 * commander knows. The scripts hold all words, so that completion never waits for Node to start.
 */

import { formatBashCompletion } from '../completion/completion-bash.ts';
import { describeCommands } from '../completion/completion-words.ts';
import { formatZshCompletion } from '../completion/completion-zsh.ts';
import type { CliCommand } from '../options/cli-command.ts';
import type { Shell } from './completion-command.ts';

export async function performCompletion(command: CliCommand, commands: readonly CliCommand[]): Promise<number> {
  const [shell] = command.processedArgs as [Shell];
  const words = describeCommands(commands);
  process.stdout.write(shell === 'bash' ? formatBashCompletion(words) : formatZshCompletion(words));
  return 0;
}
