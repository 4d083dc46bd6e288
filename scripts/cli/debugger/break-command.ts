// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca break`, a debugger for the terminal that knows source lines.
 * program.ts loads them when the command is called; break-action.ts performs it.
 */
import { Argument } from 'commander';
import type { CliCommand } from '../options/cli-command.ts';
import { inspectOption } from '../options/inspector.ts';
import { wholeNumber } from '../options/option-values.ts';
import { UsageError } from '../options/usage-error.ts';

/** The values of the options. */
export interface BreakArguments {
  readonly inspect?: string;
  readonly print?: string;
  readonly count?: number;
}

/** A line of a source file, from 1. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

const COUNT_MAX = 1_000_000;

export function defineBreak(command: CliCommand): void {
  command
    .addArgument(new Argument('<FILE:LINE>').argParser(readSourceLine))
    .addOption(inspectOption('--inspect', "The debugger's port of the adapter (default: 127.0.0.1:9229)"))
    .option('--print <EXPRESSION>', 'Prints the expression at each stop and goes on, without asking')
    .addOption(wholeNumber('--count <N>', 'Ends after N stops', 1, COUNT_MAX))
    .addNotes(
      'Begin with `vuhca run --inspect` or `vuhca device --inspect` in another terminal.',
      'At a stop: c continues, n steps over, s steps in, o steps out, bt shows the stack, q ends;',
      'anything else is evaluated there, for instance `offset` or `qp.number`.',
    )
    .addExample('vuhca break device/hca/registers/register-file.ts:82', 'stops where that line runs')
    .addExample(
      'vuhca break device/hca/scheduler/doorbell-unit.ts:148 --print qp.number --count 10',
      'watches ten doorbells',
    );
}

function readSourceLine(text: string): SourceLine {
  const [, file, line] = /^(.+\.[cm]?[jt]s):([1-9]\d*)$/.exec(text) ?? [];
  if (file !== undefined) return { file, line: Number(line) };
  throw new UsageError(`${text} is no line of a file; say for instance device/hca/adapter/adapter.ts:100`);
}
