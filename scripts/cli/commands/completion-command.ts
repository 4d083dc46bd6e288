// SPDX-License-Identifier: Apache-2.0
/**
 * The arguments and the help of `vuhca completion`, which prints a script for a shell. program.ts
 * loads them when the command is called; completion-action.ts performs it.
 */
import { Argument } from 'commander';
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
