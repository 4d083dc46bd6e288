// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca trace`, the traces of queue pairs and the timeline. program.ts
 * loads them when the command is called; trace-action.ts performs it.
 */
import type { CliCommand } from './cli-command.ts';
import { controlOption } from './control-option.ts';
import { actionArgument, wholeNumber, wholeNumbers, wordOf } from './option-values.ts';

/** The values of the options. */
export interface TraceArguments {
  readonly control?: string;
  readonly adapter?: string;
  readonly qp?: readonly number[];
  readonly timeline?: boolean;
  readonly blocks?: number;
  readonly snap?: number;
  readonly stopOnError?: boolean;
  readonly message?: number;
  readonly format?: TraceFormat;
}

const ACTIONS = ['on', 'off', 'status', 'read', 'show', 'export'] as const;
export type TraceAction = (typeof ACTIONS)[number];

const FORMATS = ['perfetto', 'json', 'erf'] as const;
export type TraceFormat = (typeof FORMATS)[number];

const QPN_MAX = 0xffffff;
const BLOCKS_LOG2_MAX = 16;
const SNAP_MAX = 65536;
const INDEX_MAX = 2 ** 52;

export function defineTrace(command: CliCommand): void {
  command
    .addArgument(actionArgument(ACTIONS))
    .argument('[FILE]', 'export: the file to write')
    .addOption(controlOption())
    .option('--adapter <NAME>', 'The adapter, where one process serves several')
    .addOption(wholeNumbers('--qp <N>', 'A queue pair; may be given several times', 0, QPN_MAX))
    .optionsGroup('Options of on and off:')
    .option('--timeline', 'The timeline of the units')
    .addOption(wholeNumber('--blocks <N>', 'on: log2 of the command blocks of a QP (default: 6)', 0, BLOCKS_LOG2_MAX))
    .addOption(wholeNumber('--snap <BYTES>', 'on: payload bytes kept of a message (default: 4096)', 0, SNAP_MAX))
    .option('--stop-on-error', 'on: keeps nothing behind the first message that fails')
    .optionsGroup('Options of show and export:')
    .addOption(wholeNumber('--message <N>', 'show: number of the command block (default: the newest)', 0, INDEX_MAX))
    .addOption(wordOf('--format <FORMAT>', 'export: the format of FILE', FORMATS))
    .addNotes(
      'Trace both QPs of a connection, and the timeline, to see a message from its doorbell to its completion',
      'on both sides. read prints JSON lines. export: perfetto for ui.perfetto.dev, erf for Wireshark (the packets',
      'within the snap length).',
    )
    .addExample('vuhca trace on --qp 2 --qp 3 --timeline', 'both ends of a connection, and the timeline')
    .addExample('vuhca trace show --qp 2', 'the newest message of a QP, step by step')
    .addExample('vuhca trace export --format perfetto x.json', 'all messages, for Perfetto')
    .addExample('vuhca trace off --qp 2 --qp 3 --timeline', 'the end of it');
}
