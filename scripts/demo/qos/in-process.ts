// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example of US8484392 with modelled hosts over simulated time: a table and bars in the
 * terminal, and a plot. Called by main.ts.
 */
import { writeFileSync } from 'node:fs';
import { GUESTS, PHASES, WorkedExample } from '../../../device/rig/qos/worked-example.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { DemoOptions } from './options.ts';
import { drawShares } from './share-plot.ts';
import { drawBars, formatTable, type Row } from './share-table.ts';

const PAYMENT = `Service follows lanes: weather paid for more PCBs than ocean, and has half its lanes. In the last phase
each lane has a weight (control 25, weather 30, ocean 9), so that service follows PCBs, 25 : 20 : 12.`;

/** Runs all phases, prints the shares of the guests, and writes the plot. */
export async function runInProcess({ output, data, members }: DemoOptions): Promise<void> {
  const example = build(members);
  const rows: Row[] = PHASES.map(({ name, active }) => ({ name, shares: example.run(active) }));
  example.weightByPayment();
  rows.push({ name: 'weights as paid', shares: example.run(GUESTS.map(() => true)) });
  const names = GUESTS.map(({ name }) => name);
  if (data !== undefined) writeFileSync(data, `${JSON.stringify(rows)}\n`);
  writeFileSync(output, await drawShares(rows));
  process.stdout.write(`${formatTable(GUESTS, rows)}\n${drawBars(names, rows)}\n${PAYMENT}\nPlot: ${output}\n`);
}

/** Throws SetupError when the adapter has too little for the shares of the example. */
function build(members: DemoOptions['members']): WorkedExample {
  try {
    return new WorkedExample(members);
  } catch (error) {
    const total = GUESTS.reduce((sum, { pcbs }) => sum + pcbs, 0);
    throw new SetupError(
      `the adapter has too little for the example, whose guests own ${total} PCBs: ${(error as Error).message}; give it more.`,
    );
  }
}
