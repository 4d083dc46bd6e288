// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca explain`, which leads from an error that a program sees to its
 * cause. program.ts loads them when the command is called; explain-action.ts performs it.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption, PROCESS_MAX, QPN_MAX, wholeNumber } from '../options/option-values.ts';

const LAST_MAX = 1e6;

/** The values of the options. */
export interface ExplainArguments {
  readonly control?: string;
  readonly qp?: number;
  readonly process?: number;
  readonly last?: number;
  readonly json?: boolean;
}

export function defineExplain(command: CliCommand): void {
  command
    .argument(
      '[STATUS]',
      'Status of a completion: number, or name with or without IBV_WC_; name of a fault or management status',
    )
    .argument('[VENDOR_ERR]', 'Its vendor_err, by number or name; behind `fault` or `management`, a number of these')
    .addOption(controlOption())
    .addOption(wholeNumber('--qp <N>', 'One queue pair (default: all that failed)', 0, QPN_MAX))
    .addOption(wholeNumber('--process <PID>', 'Queue pairs of this process of the guest', 1, PROCESS_MAX))
    .addOption(wholeNumber('--last <N>', 'Only the newest failures', 1, LAST_MAX))
    .option('--json', 'Failures as JSON')
    .addNotes(
      'With a status, says what it means, which clause of the InfiniBand specification rules it, and what',
      'to check. Without, tells of the last 64 queue pairs of a running adapter that failed, newest first,',
      'destroyed ones too: the request that failed, the packet that said so, what the peer met, and how to',
      'see the whole story. Then tells of the first fault of each function: the access or the object that',
      'caused it, and what to check. Ends with 0 also when none has failed, and with 1 when there is no',
      'such QP.',
    )
    .addExample('vuhca explain 10 18', 'perftest: "Failed status 10: wr_id 0 syndrom 0x12"')
    .addExample('vuhca explain IBV_WC_RETRY_EXC_ERR', 'a status by its name in libibverbs')
    .addExample('vuhca explain fault 2', 'a fault of a register, in the log or `vuhca status`')
    .addExample('vuhca explain --qp 18', 'why a QP of the running adapter failed, also when it is gone')
    .addExample('vuhca explain --last 1', 'the newest failure');
}
