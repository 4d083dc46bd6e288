// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca topology`, which checks a topology file and shows it as text
 * or as a picture. program.ts loads them when the command is called; topology-action.ts performs
 * it.
 */
import type { CliCommand } from '../options/cli-command.ts';

/** The values of the options. */
export interface TopologyArguments {
  readonly picture?: string;
}

export function defineTopology(command: CliCommand): void {
  command
    .argument('<FILE>', 'A topology file, as `vuhca device --topology` takes it')
    .option('--picture <FILE>', 'Writes a picture: SVG')
    .addNotes('docs/TOPOLOGY.md describes the file. Nothing is started.')
    .addExample('vuhca topology x.json', 'switches, adapters and links, with ports and rates')
    .addExample('vuhca topology x.json --picture x.svg', 'a picture for a browser');
}
