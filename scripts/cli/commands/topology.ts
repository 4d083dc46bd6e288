// SPDX-License-Identifier: Apache-2.0
/** `vuhca topology` reads a topology file and prints it, or writes a picture of it. */

import { printableLines } from '../../../protocol/system/printable.mjs';
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

export async function performTopology(command: CliCommand): Promise<number> {
  const [path] = command.processedArgs as [string];
  const { picture } = command.opts<TopologyArguments>();
  const { readTopologyFile } = await import('../topology/topology-file.ts');
  const topology = readTopologyFile(path);
  if (picture === undefined) {
    const { describeTopology } = await import('../topology/topology-text.ts');
    process.stdout.write(printableLines(describeTopology(topology)));
    return 0;
  }
  const { checkOutput } = await import('../options/named-files.ts');
  checkOutput('option --picture', picture, [path], { fifo: true });
  const { nothing, writeOutput } = await import('../options/write-output.ts');
  const { drawTopology } = await import('../topology/topology-picture.ts');
  writeOutput(`the picture ${picture}`, picture, await drawTopology(topology), nothing);
  return 0;
}
