// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example of US8484392 with modelled hosts over simulated time: a table and bars in the
 * terminal, and a plot. Called by main.ts.
 */
import { writeFileSync } from 'node:fs';
import { GUESTS, PHASES, WorkedExample } from '../../../device/simulations/qos/worked-example.ts';
import { drawShares } from './share-plot.ts';
import { drawBars, formatTable } from './share-table.ts';

/** Runs all phases, prints the shares of the guests, and writes the plot to `output`. */
export async function runInProcess(output: string): Promise<void> {
  const example = new WorkedExample();
  const rows = PHASES.map(({ name, active }) => ({ name, shares: example.run(active) }));
  const names = GUESTS.map(({ name }) => name);
  writeFileSync(output, await drawShares(rows));
  process.stdout.write(`${formatTable(GUESTS, rows)}\n${drawBars(names, rows)}Plot: ${output}\n`);
}
