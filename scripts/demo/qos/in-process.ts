// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example of US8484392 with modelled hosts over simulated time: a table and bars in the
 * terminal, and a plot. Called by main.ts.
 */
import { writeFileSync } from 'node:fs';
import { GUESTS, PHASES, WorkedExample } from '../../../device/simulations/qos/worked-example.ts';
import { drawShares } from './share-plot.ts';
import { drawBars, formatTable, type Row } from './share-table.ts';

const PAYMENT = `Service follows lanes: weather paid for more PCBs than ocean, and has half its lanes. In the last phase
each lane has a weight (control 25, weather 30, ocean 9), so that service follows PCBs, 25 : 20 : 12.`;

/** Runs all phases, prints the shares of the guests, and writes the plot to `output`. */
export async function runInProcess(output: string): Promise<void> {
  const example = new WorkedExample();
  const rows: Row[] = PHASES.map(({ name, active }) => ({ name, shares: example.run(active) }));
  example.weightByPayment();
  rows.push({ name: 'weights as paid', shares: example.run(GUESTS.map(() => true)) });
  const names = GUESTS.map(({ name }) => name);
  writeFileSync(output, await drawShares(rows));
  process.stdout.write(`${formatTable(GUESTS, rows)}\n${drawBars(names, rows)}\n${PAYMENT}\nPlot: ${output}\n`);
}
