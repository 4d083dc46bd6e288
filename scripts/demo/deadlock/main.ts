// SPDX-License-Identifier: Apache-2.0
//
// `npm run demo:deadlock [-- --seed N]`: the deadlock that doorbells can run into, and the same load with doorbell overflow. In process, in a second.

import { parseArgs } from 'node:util';
import { formatRuns, runAll } from './report.ts';

const { values } = parseArgs({ options: { seed: { type: 'string', default: '14' } } });
const seed = Number(values.seed);
if (!Number.isSafeInteger(seed) || seed < 0) {
  process.stderr.write(`demo:deadlock: option --seed is ${values.seed}; it must be a whole number from 0\n`);
  process.exit(2);
}
process.stdout.write(formatRuns(seed, runAll(seed)));
