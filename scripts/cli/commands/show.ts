// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show` reads a view of a running adapter over its control socket and prints its rows as a
 * table or as JSON, once or repeatedly. The rows of a long view arrive in several answers, between
 * which the adapter keeps working.
 */
import { VIEW_NAMES } from '../../../device/hca/adapter/contents/view-names.ts';
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { CliCommand } from '../options/cli-command.ts';
import {
  actionArgument,
  controlOption,
  PROCESS_MAX,
  QPN_MAX,
  watchOption,
  wholeNumber,
} from '../options/option-values.ts';

/** The values of the options. */
export interface ShowArguments {
  readonly control?: string;
  readonly adapter?: string;
  readonly function?: number;
  readonly qp?: number;
  readonly process?: number;
  readonly json?: boolean;
  readonly watch?: number;
}

export function defineShow(command: CliCommand): void {
  command
    .addArgument(actionArgument(VIEW_NAMES, '<VIEW>'))
    .addOption(controlOption())
    .option('--adapter <NAME>', 'The adapter, where one process serves several')
    .addOption(wholeNumber('--function <N>', 'Only what belongs to this function', 0, FUNCTION_MAX - 1))
    .addOption(wholeNumber('--qp <N>', 'Only what belongs to this queue pair', 0, QPN_MAX))
    .addOption(
      wholeNumber('--process <PID>', "Only what belongs to queue pairs of this guest's process", 1, PROCESS_MAX),
    )
    .option('--json', 'Prints the rows as JSON')
    .addOption(watchOption('the list'))
    .addNotes(
      '  vcbs         VCBs that collect a command, and their PCBs',
      '  pcbs         PCBs that are not free, and their commands',
      '  lists        doorbells and send queues in the order of their service: lists, scheduler buffer, bus',
      '  lanes        commands in each kick list, in the order of their launch',
      '  overflow     doorbells in the overflow buffers, as guest memory has them',
      '  commands     commands in completion lists, pipeline and kick lists, with their credits',
      '  queues       QPs, CQs and SRQs: state and next entry',
      '  completions  CQs only: state, unread entries, event queue',
      '  connections  PSNs outstanding, waits and retries of connected QPs',
      '  events       event queues: counters, delay, next interrupt time stamp, summary bytes',
      '  contexts     send contexts: state and credits',
      '  blocks       blocks of send contexts, in runs of one state from the oldest on',
    )
    .addExample('vuhca show queues', 'every QP, CQ and SRQ')
    .addExample('vuhca show commands --qp 2 --watch', 'the commands of one queue pair, every second')
    .addExample('vuhca show lanes --json', 'all kick lists, for programs');
}

export async function performShow(command: CliCommand): Promise<number> {
  const [view] = command.processedArgs as [string];
  const given = command.opts<ShowArguments>();
  const { showScreens, withAdapter } = await import('../session/with-adapter.ts');
  const { renderRows } = await import('../screens/show-screen.ts');
  const { adapter, function: number, qp, process } = given;
  await withAdapter(given.control, async (client) => {
    const read = async () => {
      const parts = await client.requestAll('show', { view, adapter, function: number, qp, process });
      return { view, rows: parts.flatMap(({ rows }) => rows) };
    };
    await showScreens(given, read, ({ rows }) => renderRows(rows));
  });
  return 0;
}
