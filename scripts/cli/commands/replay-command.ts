// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca replay`, which runs a recorded session again. program.ts loads
 * them when the command is called; replay-action.ts performs it.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { inspectOption } from '../options/inspector.ts';
import { QPN_MAX, wholeNumber, wholeNumbers, wordOf } from '../options/option-values.ts';
import { FORMATS, type TraceFormat } from '../trace/trace-command.ts';

/** The values of the options. */
export interface ReplayArguments {
  readonly until?: number;
  readonly breakAt?: number;
  readonly trace?: boolean;
  readonly inspectBrk?: string;
  readonly messages?: boolean;
  readonly show?: boolean;
  readonly export?: string;
  readonly format?: TraceFormat;
  readonly qp?: readonly number[];
  readonly message?: number;
}

const ANY = Number.MAX_SAFE_INTEGER;

export function defineReplay(command: CliCommand): void {
  command
    .argument('<FILE>', 'The recording')
    .addOption(wholeNumber('--until <N>', 'Ends before step N', 0, ANY))
    .addOption(
      wholeNumber('--break-at <N>', 'Enters the debugger before step N; --trace then begins there too', 0, ANY),
    )
    .option('--trace', 'Prints every step: its number, its time and the access of the guest')
    .addOption(
      inspectOption(
        '--inspect-brk',
        'Waits for a debugger and enters it before the step of --break-at (without one, the first)',
      ),
    )
    .optionsGroup('Options for traces, which the recorded session need not have had:')
    .option('--messages', 'Traces all queue pairs and the units; prints JSON lines, as `vuhca trace read`')
    .option('--show', 'Tells the story of a message, as `vuhca trace show`')
    .option('--export <FILE>', 'Writes all of it to FILE, as `vuhca trace export`')
    .addOption(wordOf('--format <FORMAT>', '--export: the format of FILE', FORMATS))
    .addOption(wholeNumbers('--qp <N>', 'Only of this queue pair; may be given several times', 0, QPN_MAX))
    .addOption(wholeNumber('--message <N>', '--show: number of the command block (default: the newest)', 0, ANY))
    .addNotes(
      'A step is one call into the adapter: a register access, a collect write, a reset, a run of its units.',
      '`vuhca device --record FILE` and `vuhca run --record FILE` make recordings.',
    )
    .addExample('vuhca replay x.rec', 'the whole session, checked')
    .addExample('vuhca replay --trace --until 40 x.rec', 'the first 40 steps, printed')
    .addExample('vuhca replay --show --qp 2 x.rec', 'the newest message of a queue pair, step by step')
    .addExample('vuhca replay --inspect-brk --break-at 1207 x.rec', 'a debugger at step 1207');
}
