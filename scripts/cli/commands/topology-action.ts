// SPDX-License-Identifier: Apache-2.0
/** Performs `vuhca topology`: reads a topology file and prints it, or writes a picture of it. */
import { printableLines } from '../../../protocol/system/printable.mjs';
import type { CliCommand } from '../options/cli-command.ts';
import { checkOutput } from '../options/named-files.ts';
import { nothing, writeOutput } from '../options/write-output.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import { drawTopology } from '../topology/topology-picture.ts';
import { describeTopology } from '../topology/topology-text.ts';
import type { TopologyArguments } from './topology-command.ts';

export async function performTopology(command: CliCommand): Promise<number> {
  const [path] = command.processedArgs as [string];
  const { picture } = command.opts<TopologyArguments>();
  const topology = readTopologyFile(path);
  if (picture !== undefined) checkOutput('option --picture', picture, [path], { fifo: true });
  if (picture === undefined) {
    process.stdout.write(printableLines(describeTopology(topology)));
    return 0;
  }
  writeOutput(`the picture ${picture}`, picture, await drawTopology(topology), nothing);
  return 0;
}
