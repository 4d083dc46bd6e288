// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo:qos -- --in-process [--plot FILE]`: the patent's worked example. A table and bars in the terminal, a plot as SVG: guarantees hold while the others flood, and what is shared
 * is used when it is free.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { GUESTS, PHASES, WorkedExample } from '../device/conformance/qos/worked-example.ts';
import { drawBars, drawSvg, formatTable } from './demo-qos/picture.ts';

const { values } = parseArgs({
  options: {
    'in-process': { type: 'boolean', default: false },
    plot: { type: 'string', default: 'build/demo-qos.svg' },
  },
});
if (!values['in-process']) {
  process.stderr.write('demo:qos runs in process only: give --in-process\n');
  process.exit(2);
}
const example = new WorkedExample();
const rows = PHASES.map(({ name, active }) => ({ name, shares: example.run(active) }));
const names = GUESTS.map(({ name }) => name);
process.stdout.write(`${formatTable(GUESTS, rows)}\n${drawBars(names, rows)}`);
writeFileSync(values.plot, drawSvg(names, rows));
process.stdout.write(`plot: ${values.plot}\n`);
