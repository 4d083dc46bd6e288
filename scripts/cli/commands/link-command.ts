// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca link`, which cuts links of a running process, plugs them in
 * and changes them. program.ts loads them when the command is called; link-action.ts performs it.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption } from '../options/control-option.ts';

/** The values of the options. */
export interface LinkArguments {
  readonly control?: string;
  readonly json?: boolean;
}

export function defineLink(command: CliCommand): void {
  command
    .argument('[VERB]', 'down, up or set; without it the links are listed')
    .argument('[PORT]', 'One end of the link, NODE:PORT; of a lone adapter the number suffices')
    .argument('[PROPERTY...]', 'For set: KEY=VALUE')
    .addOption(controlOption())
    .option('--json', 'Prints the list as JSON')
    .addNotes(
      '  down, up     pulls the cable out, and plugs it in again',
      '  drop, duplicate, reorder, corrupt, delay',
      '               probability of the fault for a packet; seed draws them',
      '  bitsPerSecond, delayNs, mtuBytes, lateNs, reorderNs, reorderWindow',
      '               as in a topology file (docs/TOPOLOGY.md)',
      'A plain cable that gets properties goes down and trains once; a link that has some stays up. Links to',
      'other processes take down and up. A recording has the changes, and its replay repeats them.',
    )
    .addExample('vuhca link', 'all links with their state and packets')
    .addExample('vuhca link down a:1', 'the link at port 1 of node a goes down')
    .addExample('vuhca link set leaf1:3 drop=0.01 seed=7', 'a link that loses one packet of a hundred')
    .addExample('vuhca link set a:1 bitsPerSecond=1e9 delayNs=5000', 'a slow and long one');
}
