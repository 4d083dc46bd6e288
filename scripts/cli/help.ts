// SPDX-License-Identifier: Apache-2.0
//
// The help texts of `vuhca`, from the commands' own descriptions.

import type { Command } from './command.ts';

const COLUMN = 30;
const WIDTH = 100;

/** What `vuhca --help` prints. */
export function describeCommands(commands: readonly Command[]): string {
  return [
    'vuhca: an InfiniBand host channel adapter in user space, for QEMU guests over vfio-user',
    '',
    'Usage: vuhca COMMAND [OPTION...]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`),
    '',
    '`vuhca COMMAND --help` describes a command. NODE_OPTIONS reaches Node. docs/DEBUGGING.md shows debuggers at work.',
    '',
  ].join('\n');
}

/** What `vuhca COMMAND --help` prints. */
export function describeCommand(command: Command): string {
  const { name, summary, operands, options, notes = [] } = command;
  const rows = Object.entries(options).map(([option, { value, bare, description }]) => {
    const words = value === undefined ? '' : bare === undefined ? ` ${value}` : `[=${value}]`;
    return row(`  --${option}${words}`, description);
  });
  return [
    `Usage: vuhca ${name} [OPTION...]${operands === '' ? '' : ` ${operands}`}`,
    '',
    summary[0].toUpperCase() + summary.slice(1),
    '',
    'Options:',
    ...rows.flat(),
    ...row('  --help', 'Prints this'),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
  ].join('\n');
}

function row(left: string, text: string): string[] {
  const lines = wrap(text, WIDTH - COLUMN);
  const indented = lines.map((line) => ' '.repeat(COLUMN) + line);
  if (left.length + 2 > COLUMN) return [left, ...indented];
  return [left.padEnd(COLUMN) + lines[0], ...indented.slice(1)];
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines[lines.length - 1];
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
