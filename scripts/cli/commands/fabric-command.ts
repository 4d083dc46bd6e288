// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca fabric`, the screen of the subnet of a running process.
 * program.ts loads them when the command is called; fabric-action.ts performs it.
 */
import { Option } from 'commander';
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption } from '../options/control-option.ts';
import { wholeNumber } from '../options/option-values.ts';

/** The values of the options. */
export interface FabricArguments {
  readonly control?: string;
  readonly json?: boolean;
  readonly picture?: string;
  readonly watch?: number;
}

const DAY_SECONDS = 86_400;

export function defineFabric(command: CliCommand): void {
  command
    .addOption(controlOption())
    .option('--json', 'Prints everything as JSON')
    .addOption(new Option('--picture <FILE>', 'Writes a picture: SVG, with the load of one second').conflicts('json'))
    .addOption(
      wholeNumber('--watch [SECONDS]', 'Repeats the screen or the picture until Ctrl-C', 1, DAY_SECONDS).preset('1'),
    )
    .addNotes(
      'Nodes of this process only; `ibnetdiscover` over the host door sees the whole subnet',
      '(docs/FABRIC.md). Port 0 is the management port of a switch.',
    )
    .addExample('vuhca fabric', 'one screen: nodes, LIDs, links, states, errors, subnet manager')
    .addExample('vuhca fabric --watch', 'a new screen every second')
    .addExample('vuhca fabric --picture x.svg', 'the subnet with LIDs, states, load and errors, for a browser')
    .addExample('vuhca fabric --json', 'all of it, for programs');
}
