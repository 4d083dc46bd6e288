// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca status` and `vuhca top`, the screens of a running adapter.
 * program.ts loads them when a command is called; status-action.ts performs it.
 */
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption, DAY_SECONDS, QPN_MAX, watchOption, wholeNumber } from '../options/option-values.ts';

/** The values of the options of both. */
export interface ScreenArguments {
  readonly control?: string;
  readonly json?: boolean;
  readonly function?: number;
}

export interface StatusArguments extends ScreenArguments {
  readonly watch?: number;
  /** A QPN, or true for all queue pairs. */
  readonly qp?: number | true;
}

export interface TopArguments extends ScreenArguments {
  readonly interval: number;
  readonly count?: number;
}

const COUNT_MAX = 1_000_000;

export function defineStatus(command: CliCommand): void {
  addScreenOptions(command, 'Everything about this function (default: a line for each)');
  command
    .addOption(watchOption('the screen'))
    .addOption(wholeNumber('--qp [N]', 'Queue pairs: all of them as a table, or QP N in full', 0, QPN_MAX))
    .addExample('vuhca status', 'one screen')
    .addExample('vuhca status --watch', 'a new screen every second')
    .addExample('vuhca status --function 1 --watch=5', 'one of several functions, every five seconds')
    .addExample('vuhca status --qp', 'every queue pair, a line for each')
    .addExample('vuhca status --qp 2', 'one queue pair: why it failed, its peer, its progress')
    .addExample('vuhca status --json', 'all of it, for programs');
}

export function defineTop(command: CliCommand): void {
  addScreenOptions(command, 'Only this function');
  command
    .addOption(wholeNumber('--interval <SECONDS>', 'Time between screens', 1, DAY_SECONDS).default(1))
    .addOption(
      wholeNumber('--count <N>', 'Ends after N screens, one below the other (default: until Ctrl-C)', 1, COUNT_MAX),
    )
    .addExample('vuhca top', 'a new screen every second')
    .addExample('vuhca top --function 0 --interval 10 --count 6', 'a minute of the physical function');
}

function addScreenOptions(command: CliCommand, functionDescription: string): void {
  command
    .addOption(controlOption())
    .option('--json', 'Prints everything as JSON')
    .addOption(wholeNumber('--function <N>', functionDescription, 0, FUNCTION_MAX - 1));
}
