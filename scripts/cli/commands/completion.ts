// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca completion` prints a script for a shell, from the arguments and options that commander
 * knows. The scripts hold all words, so that completion never waits for Node to start.
 */
import { Argument } from 'commander';
import { formatBashCompletion } from '../completion/completion-bash.ts';
import { describeCommands } from '../completion/completion-words.ts';
import { formatZshCompletion } from '../completion/completion-zsh.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';

const SHELLS = ['bash', 'zsh'] as const;
export type Shell = (typeof SHELLS)[number];

export function defineCompletion(command: CliCommand): void {
  command
    .addArgument(new Argument('<SHELL>').choices(SHELLS).argParser(readShell))
    .addNotes('The script completes commands, options, words and files. Put the line into ~/.bashrc or ~/.zshrc.')
    .addExample('source <(vuhca completion bash)', 'in bash')
    .addExample('source <(vuhca completion zsh)', 'in zsh, behind compinit');
}

function readShell(text: string): Shell {
  const shell = SHELLS.find((one) => one === text);
  if (shell === undefined) throw new UsageError(`there is no script for ${text}; say ${SHELLS.join(' or ')}`);
  return shell;
}

export async function performCompletion(command: CliCommand, commands: readonly CliCommand[]): Promise<number> {
  const [shell] = command.processedArgs as [Shell];
  const words = describeCommands(commands);
  process.stdout.write(shell === 'bash' ? formatBashCompletion(words) : formatZshCompletion(words));
  return 0;
}
