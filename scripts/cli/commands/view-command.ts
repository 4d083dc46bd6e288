// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca view`, which shows a running process or a recording in a
 * browser. program.ts
 * loads them when the command is called; view-action.ts performs it.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption, wholeNumber, wordOf } from '../options/option-values.ts';
import { type LessonName, lessonEntries } from '../view/lesson.ts';

/** The values of the options. */
export interface ViewArguments {
  readonly control?: string;
  readonly port?: number;
  readonly read?: boolean;
  readonly lesson?: LessonName;
  readonly lessons?: boolean;
  /** False with `--no-open`. */
  readonly open: boolean;
}

/** The beginning of the line on standard output with the address of the page. */
export const PAGE_IS_AT = 'the page is at';

const PORT_MAX = 65_535;

export function defineView(command: CliCommand): void {
  command
    .argument('[FILE]', 'A recording; without it a running process is shown')
    .addOption(controlOption())
    .addOption(wholeNumber('--port <N>', 'The TCP port at 127.0.0.1 (default: any that is free)', 1, PORT_MAX))
    .addOption(
      wordOf(
        '--lesson <NAME>',
        'A guided scene, and no running process',
        lessonEntries.map(({ name }) => name),
      ),
    )
    .option('--lessons', 'Lists the lessons')
    .option('--read', 'The page may look, and change nothing')
    .option('--no-open', 'Prints the address only; without it a desktop opens it')
    .addNotes(
      'The address has a token: whoever has it sees what you see, and without --read does what you can do by',
      '`vuhca link`, `inject`, `resources set`, `trace` and `capture`. Only programs of this machine reach it.',
      'It ends by Ctrl-C, and with the process that it shows. A recording is only looked at. The device',
      'spends at most 2 % of its time on all pages, and none when nobody looks.',
      'Scripts send the token in a header: `curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:N/api/state`.',
    )
    .addExample('vuhca view x.rec', 'a recorded session, at any of its steps')
    .addExample('vuhca view', 'the only running process, in a browser')
    .addExample('vuhca view --lesson doorbell-overflow', 'what the overflow buffer of doorbells is for, step by step')
    .addExample('vuhca view --read --port 8080 --no-open', 'for looking only, at a port of your choice');
}
