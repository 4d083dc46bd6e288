// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca fabric`: reads the subnet of a running process over its control socket and prints
 * it as a screen or as JSON, or draws it; once or again and again.
 */
import { setTimeout } from 'node:timers/promises';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { FabricReport } from '../../device/main/fabric-report.ts';
import type { CliCommand } from './cli-command.ts';
import type { FabricArguments } from './fabric-command.ts';
import { drawFabric } from './fabric-picture.ts';
import { renderFabric } from './fabric-screen.ts';
import { colour } from './screen-text.ts';
import { CLEAR_SCREEN } from './status-sample.ts';
import { nothing, writeOutput } from './write-output.ts';

const MS_PER_SECOND = 1000;

/** Seconds between the two reports of a picture, unless `--watch` says it. */
const LOAD_SECONDS = 1;

export async function performFabric(command: CliCommand): Promise<number> {
  const options = command.opts<FabricArguments>();
  const client = await ControlClient.connect(options.control ?? (await findOnlyControlPath()));
  try {
    if (options.picture === undefined) await printScreens(client, options);
    else await drawPictures(client, options.picture, options.watch);
  } finally {
    client.close();
  }
  return 0;
}

/** Again and again with `watch`. */
async function printScreens(client: ControlClient, { json = false, watch }: FabricArguments): Promise<void> {
  const isColoured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  for (let isFirst = true; isFirst || watch !== undefined; isFirst = false) {
    if (!isFirst && watch !== undefined) await setTimeout(watch * MS_PER_SECOND);
    const report = await readFabric(client);
    const screen = renderFabric(report);
    const text = json ? `${JSON.stringify(report)}\n` : isColoured ? colour(screen) : screen;
    process.stdout.write(watch === undefined || json ? text : `${CLEAR_SCREEN}${text}`);
  }
}

/** A picture with the load since the report before it; with `watch` the file is kept up to date. */
async function drawPictures(client: ControlClient, path: string, watch: number | undefined): Promise<void> {
  let before = await readFabric(client);
  do {
    await setTimeout((watch ?? LOAD_SECONDS) * MS_PER_SECOND);
    const now = await readFabric(client);
    writeOutput(`the picture ${path}`, path, await drawFabric(before, now), nothing);
    before = now;
  } while (watch !== undefined);
}

async function readFabric(client: ControlClient): Promise<FabricReport> {
  return (await client.request('fabric')) as FabricReport;
}
