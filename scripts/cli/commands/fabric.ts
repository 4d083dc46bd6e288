// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca fabric` reads the subnet of a running process over its control socket and prints it as a
 * screen or as JSON, or draws it, once or repeatedly.
 */

import { setTimeout } from 'node:timers/promises';
import { Option } from 'commander';
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption, watchOption } from '../options/option-values.ts';

/** The values of the options. */
export interface FabricArguments {
  readonly control?: string;
  readonly json?: boolean;
  readonly picture?: string;
  readonly watch?: number;
}

export function defineFabric(command: CliCommand): void {
  command
    .addOption(controlOption())
    .option('--json', 'Prints everything as JSON')
    .addOption(new Option('--picture <FILE>', 'Writes a picture: SVG, with the load of one second').conflicts('json'))
    .addOption(watchOption('the screen or the picture'))
    .addNotes(
      'Nodes of this process only; `ibnetdiscover` over the host door sees the whole subnet',
      '(docs/FABRIC.md). Port 0 is the management port of a switch.',
    )
    .addExample('vuhca fabric', 'one screen: nodes, LIDs, links, states, errors, subnet manager')
    .addExample('vuhca fabric --watch', 'a new screen every second')
    .addExample('vuhca fabric --picture x.svg', 'the subnet with LIDs, states, load and errors, for a browser')
    .addExample('vuhca fabric --json', 'all of it, for programs');
}

const MS_PER_SECOND = 1000;

/** Seconds between the two reports of a picture, unless `--watch` gives them. */
const LOAD_SECONDS = 1;

export async function performFabric(command: CliCommand): Promise<number> {
  const given = command.opts<FabricArguments>();
  const { picture } = given;
  const { isColoured, showScreens, withAdapter } = await import('../session/with-adapter.ts');
  const { renderFabric } = await import('../screens/fabric-screen.ts');
  const { colour } = await import('../screens/screen-text.ts');
  await withAdapter(given.control, (client) =>
    picture === undefined
      ? showScreens(
          given,
          () => client.request('fabric'),
          (report) => (isColoured() ? colour(renderFabric(report)) : renderFabric(report)),
        )
      : drawPictures(client, picture, given.watch),
  );
  return 0;
}

/** A picture with the load since the report before it; with `watch` the file is kept up to date. */
async function drawPictures(client: ControlClient, path: string, watch: number | undefined): Promise<void> {
  const { nothing, writeOutput } = await import('../options/write-output.ts');
  const { drawFabric } = await import('../screens/fabric-picture.ts');
  let before = await client.request('fabric');
  do {
    await setTimeout((watch ?? LOAD_SECONDS) * MS_PER_SECOND);
    const now = await client.request('fabric');
    writeOutput(`the picture ${path}`, path, await drawFabric(before, now), nothing);
    before = now;
  } while (watch !== undefined);
}
