// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca status` and `vuhca top`: the state of a running adapter or of its queue pairs,
 * and its activity per second, as a screen or as JSON.
 */
import type { CliCommand } from '../options/cli-command.ts';
import type { StatusView } from '../screens/status-screen.ts';
import { isColoured } from '../session/with-adapter.ts';
import { showQueuePairs } from './queue-pair-sample.ts';
import type { ScreenArguments, StatusArguments, TopArguments } from './status-command.ts';
import { showSamples } from './status-sample.ts';

/** Rates of a single screen are measured over this time. */
const SAMPLE_SECONDS = 0.5;
const NARROW_COLUMNS = 80;

export async function performStatus(command: CliCommand): Promise<number> {
  const given = command.opts<StatusArguments>();
  if (given.qp !== undefined) {
    await showQueuePairs(given);
    return 0;
  }
  const count = given.watch === undefined ? 1 : undefined;
  await showSamples(given, given.watch ?? SAMPLE_SECONDS, count, readView(given));
  return 0;
}

export async function performTop(command: CliCommand): Promise<number> {
  const given = command.opts<TopArguments>();
  await showSamples(given, given.interval, given.count, { ...readView(given), perSecond: true });
  return 0;
}

function readView({ function: number }: ScreenArguments): StatusView {
  // Without a terminal the width of the output is unknown, so the screen fits the narrowest one.
  const { columns = NARROW_COLUMNS } = process.stdout;
  const view = { columns, colour: isColoured() };
  return number === undefined ? view : { ...view, number };
}
