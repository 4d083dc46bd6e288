// SPDX-License-Identifier: Apache-2.0
/** The worked example of US8484392 with modelled hosts over simulated time: a table and bars in the terminal, and a plot. Called by main.ts. */
import { writeFileSync } from 'node:fs';
import { GUESTS, PHASES, WorkedExample } from '../../../device/simulations/qos/worked-example.ts';
import { drawBars, drawSvg, formatTable } from './picture.ts';

export function runInProcess(output: string): void {
  const example = new WorkedExample();
  const rows = PHASES.map(({ name, active }) => ({ name, shares: example.run(active) }));
  const names = GUESTS.map(({ name }) => name);
  writeFileSync(output, drawSvg(names, rows));
  process.stdout.write(`${formatTable(GUESTS, rows)}\n${drawBars(names, rows)}Plot: ${output}\n`);
}
