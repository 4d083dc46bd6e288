// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca replay`, which runs a recorded session again. program.ts loads
 * them when the command is called; replay-action.ts performs it.
 */
import type { CliCommand } from './cli-command.ts';
import { inspectOption } from './inspector.ts';
import { wholeNumber } from './option-values.ts';

/** The values of the options. */
export interface ReplayArguments {
  readonly until?: number;
  readonly breakAt?: number;
  readonly trace?: boolean;
  readonly inspectBrk?: string;
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
    .addNotes(
      'A step is one call into the adapter: a register access, a collect write, a reset, a run of its units.',
      '`vuhca device --record FILE` and `vuhca run --record FILE` make recordings.',
      '',
      'Exit status: 0 identical; 3 the adapter behaved differently (prints the first difference);',
      '1 no usable recording.',
    )
    .addExample('vuhca replay x.rec', 'the whole session, checked')
    .addExample('vuhca replay --trace --until 40 x.rec', 'the first 40 steps, printed')
    .addExample('vuhca replay --inspect-brk --break-at 1207 x.rec', 'a debugger at step 1207');
}
