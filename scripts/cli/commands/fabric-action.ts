// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca fabric`: reads the subnet of a running process over its control socket and prints
 * it as a screen or as JSON, or draws it; once or again and again.
 */
import { setTimeout } from 'node:timers/promises';
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { nothing, writeOutput } from '../options/write-output.ts';
import { drawFabric } from '../screens/fabric-picture.ts';
import { renderFabric } from '../screens/fabric-screen.ts';
import { colour } from '../screens/screen-text.ts';
import { showScreens, withAdapter } from '../session/with-adapter.ts';
import type { FabricArguments } from './fabric-command.ts';

const MS_PER_SECOND = 1000;

/** Seconds between the two reports of a picture, unless `--watch` says it. */
const LOAD_SECONDS = 1;

export async function performFabric(command: CliCommand): Promise<number> {
  const given = command.opts<FabricArguments>();
  const { picture } = given;
  const isColoured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  await withAdapter(given.control, (client) =>
    picture === undefined
      ? showScreens(
          given,
          () => client.request('fabric'),
          (report) => (isColoured ? colour(renderFabric(report)) : renderFabric(report)),
        )
      : drawPictures(client, picture, given.watch),
  );
  return 0;
}

/** A picture with the load since the report before it; with `watch` the file is kept up to date. */
async function drawPictures(client: ControlClient, path: string, watch: number | undefined): Promise<void> {
  let before = await client.request('fabric');
  do {
    await setTimeout((watch ?? LOAD_SECONDS) * MS_PER_SECOND);
    const now = await client.request('fabric');
    writeOutput(`the picture ${path}`, path, await drawFabric(before, now), nothing);
    before = now;
  } while (watch !== undefined);
}
