// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca trace`, the traces of queue pairs and the timeline. program.ts
 * loads them when the command is called; trace-action.ts performs it.
 */
import { RULE_SERVICES } from '../../../device/hca/trace/rule-services.ts';
import type { CliCommand } from '../options/cli-command.ts';
import {
  actionArgument,
  controlOption,
  PROCESS_MAX,
  QPN_MAX,
  several,
  wholeNumber,
  wholeNumbers,
  wordOf,
} from '../options/option-values.ts';

/** The values of the options. */
export interface TraceArguments {
  readonly control?: string;
  readonly with?: readonly string[];
  readonly adapter?: string;
  readonly qp?: readonly number[];
  readonly new?: boolean;
  readonly service?: string;
  readonly function?: number;
  readonly peerLid?: number;
  readonly peerQp?: number;
  readonly process?: number;
  readonly timeline?: boolean;
  readonly steps?: number;
  readonly blocks?: number;
  readonly bytes?: number;
  readonly seconds?: number;
  readonly snap?: number;
  readonly stopOnError?: boolean;
  readonly message?: number;
  readonly retried?: boolean;
  readonly failed?: boolean;
  readonly slowest?: number;
  readonly messages?: boolean;
  readonly ladder?: string;
  readonly last?: number;
  readonly follow?: boolean;
  readonly format?: TraceFormat;
  readonly json?: boolean;
}

const ACTIONS = ['on', 'off', 'pause', 'resume', 'status', 'read', 'show', 'export'] as const;
export type TraceAction = (typeof ACTIONS)[number];

export const FORMATS = ['perfetto', 'json', 'erf'] as const;
export type TraceFormat = (typeof FORMATS)[number];

const LID_MAX = 0xffff;
const FUNCTION_MAX = 0xffff;
const BLOCKS_LOG2_MAX = 16;
const STEPS_LOG2_MAX = 22;
const SNAP_MAX = 65536;
const INDEX_MAX = 2 ** 52;
const BYTES_MAX = 2 ** 40;
const SECONDS_MAX = 2 ** 31;
const KEPT_SECONDS_MAX = 1e6;

export function defineTrace(command: CliCommand): void {
  command
    .addArgument(actionArgument(ACTIONS))
    .argument('[FILE]', 'export: the file to write; show: a recording, instead of a running adapter')
    .addOption(controlOption())
    .option('--adapter <NAME>', 'The adapter, where one process serves several')
    .option('--json', 'Prints states and stories as JSON; read prints JSON anyway')
    .addOption(wholeNumbers('--qp <N>', 'A queue pair; may be given several times', 0, QPN_MAX))
    .optionsGroup('Options of on and off:')
    .option('--new', 'Queue pairs to come; the next five options say which (default: all)')
    .addOption(wordOf('--service <TYPE>', '--new: of this service', RULE_SERVICES))
    .addOption(wholeNumber('--function <N>', '--new: of this function', 0, FUNCTION_MAX))
    .addOption(wholeNumber('--peer-lid <LID>', '--new: connected to this LID', 0, LID_MAX))
    .addOption(wholeNumber('--peer-qp <N>', '--new: connected to this queue pair', 0, QPN_MAX))
    .addOption(
      wholeNumber(
        '--process <PID>',
        'Those of this process of the guest; with --new, only those to come',
        1,
        PROCESS_MAX,
      ),
    )
    .option('--timeline', 'The timeline of the units')
    .addOption(wholeNumber('--steps <N>', 'on: log2 of the steps of the timeline (default: 16)', 0, STEPS_LOG2_MAX))
    .addOption(wholeNumber('--blocks <N>', 'on: log2 of the command blocks of a QP (default: 6)', 0, BLOCKS_LOG2_MAX))
    .addOption(wholeNumber('--bytes <N>', 'on: as many blocks as fit into so many bytes', 0, BYTES_MAX))
    .addOption(wholeNumber('--seconds <N>', 'on: keeps what ended in the last N seconds only', 1, KEPT_SECONDS_MAX))
    .addOption(wholeNumber('--snap <BYTES>', 'on: payload bytes kept of a message (default: 4096)', 0, SNAP_MAX))
    .option('--stop-on-error', 'on: keeps nothing behind the first message that fails')
    .optionsGroup('Options of read, show and export:')
    .addOption(several('--with <PATH>', 'The control socket of a linked process'))
    .addOption(wholeNumber('--last <SECONDS>', 'Only what ended in the last seconds', 1, SECONDS_MAX))
    .option('--follow', 'read: prints messages and steps as they come, until Ctrl-C')
    .addOption(wholeNumber('--message <N>', 'show: number of the command block (default: the newest)', 0, INDEX_MAX))
    .option('--messages', 'show: a list of the messages, one line each')
    .option('--retried', 'show: only messages with packets that were sent again')
    .option('--failed', 'show: only messages that failed')
    .addOption(wholeNumber('--slowest <N>', 'show: only the N that took longest, slowest first', 1, INDEX_MAX))
    .option('--ladder <SVG>', 'show: draws the message as a sequence diagram instead of telling it')
    .addOption(wordOf('--format <FORMAT>', 'export: the format of FILE', FORMATS))
    .addNotes(
      'Trace both QPs of a connection, and the timeline, to see a message from its doorbell to its completion',
      'on both sides. A trace stays when its QP is destroyed. pause keeps all as it is; resume goes on. read prints',
      'JSON lines. export: perfetto for ui.perfetto.dev, erf for Wireshark (the packets within the snap length).',
      'Neither guests nor recordings notice a trace; `show` with a recording traces that.',
      '--retried, --failed and --slowest combine, with --qp and --last as well, and tell the stories of all that',
      'fit. Exit status: 1 when no message fits, or there is no adapter; 3 when a recording replays differently.',
    )
    .addExample('vuhca trace on --qp 2 --qp 3 --timeline', 'both ends of a connection, and the timeline')
    .addExample('vuhca trace on --new --service RC --timeline', 'connections to come, from their first message on')
    .addExample('vuhca trace on --process 711 --timeline', 'all queue pairs of a process of the guest')
    .addExample('vuhca trace show --qp 2', 'the newest message of a QP, step by step')
    .addExample('vuhca trace show --qp 2 --json', 'the same for programs')
    .addExample('vuhca trace show --messages --retried', 'a list of those that were sent again')
    .addExample('vuhca trace show --slowest 1 --ladder x.svg', 'a picture of the slowest')
    .addExample('vuhca trace show x.rec --failed', 'what failed in a recorded session')
    .addExample('vuhca trace export --format perfetto x.json', 'all messages, for Perfetto')
    .addExample('vuhca trace off --qp 2 --qp 3 --timeline', 'the end of it');
}
