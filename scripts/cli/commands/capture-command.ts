// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca capture`, which writes the packets of a running adapter to a
 * file. program.ts loads them when the command is called; capture-action.ts performs it.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption, LIMIT_MAX_MIB, limitOption, wholeNumber, wordOf } from '../options/option-values.ts';

/** The values of the options. */
export interface CaptureArguments {
  readonly output: string;
  readonly control?: string;
  readonly count?: number;
  readonly seconds?: number;
  /** In MiB. */
  readonly limit: number;
  readonly adapter?: string;
  readonly port?: number;
  readonly direction?: 'sent' | 'received';
}

const PORT_MAX = 36;
const YEAR_SECONDS = 86_400 * 365;

export function defineCapture(command: CliCommand): void {
  command
    .requiredOption('--output <FILE>', 'The file: pcap with ERF records')
    .addOption(controlOption())
    .optionsGroup('End:')
    .addOption(wholeNumber('--count <N>', 'Ends after N packets', 1, Number.MAX_SAFE_INTEGER))
    .addOption(wholeNumber('--seconds <S>', 'Ends after S seconds', 1, YEAR_SECONDS))
    .addOption(limitOption('--limit <MIB>', 'Ends before the file becomes longer', LIMIT_MAX_MIB))
    .optionsGroup('Choice of packets:')
    .option('--adapter <NAME>', 'The adapter or the switch, where one process has several')
    .addOption(wholeNumber('--port <N>', 'Only this port; all ports when absent', 1, PORT_MAX))
    .addOption(wordOf('--direction <WORD>', 'Only packets that ports send, or receive', ['sent', 'received']))
    .addNotes(
      'A packet from port to port is seen twice: when it is sent and when it is received;',
      '--direction=sent gives it once. Ctrl-C ends the capture. Wireshark and tshark read the file as it is.',
      'Its format has two numbers of ports: the odd ports of a switch share one, the even ones the other.',
    )
    .addExample('vuhca capture --output x.pcap', 'all packets, until Ctrl-C')
    .addExample('vuhca capture --output x.pcap --direction sent --count 1000', 'each packet once, a thousand of them')
    .addExample('vuhca capture --output x.pcap --port 1 --seconds 10', 'one port, ten seconds')
    .addExample('vuhca capture --output x.pcap --adapter s1', 'the ports of a switch of the topology');
}
