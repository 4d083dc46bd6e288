// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca fabric`: reads the subnet of a running process over its control socket and prints
 * it as a screen or as JSON, once or again and again.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { FabricReport } from '../../device/main/fabric-report.ts';
import type { CliCommand } from './cli-command.ts';
import type { FabricArguments } from './fabric-command.ts';
import { renderFabric } from './fabric-screen.ts';
import { colour } from './screen-text.ts';
import { CLEAR_SCREEN } from './status-sample.ts';

export async function performFabric(command: CliCommand): Promise<number> {
  const { control, json = false, watch } = command.opts<FabricArguments>();
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  const isColoured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  try {
    for (let isFirst = true; isFirst || watch !== undefined; isFirst = false) {
      if (!isFirst && watch !== undefined) await new Promise((done) => setTimeout(done, watch * 1000));
      const report = (await client.request('fabric')) as FabricReport;
      const screen = renderFabric(report);
      const text = json ? `${JSON.stringify(report)}\n` : isColoured ? colour(screen) : screen;
      process.stdout.write(watch === undefined || json ? text : `${CLEAR_SCREEN}${text}`);
    }
  } finally {
    client.close();
  }
  return 0;
}
