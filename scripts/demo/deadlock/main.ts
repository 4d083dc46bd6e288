// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo:deadlock [-- --seed N]`: the deadlock that doorbells can run into (US9069485), and
 * the same load with doorbell overflow. In process, in a second.
 */
import { runEntry } from '../../../qemu/setup/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../../qemu/setup/script-options.ts';
import { formatRuns, runAll } from './report.ts';

await runEntry(async () => {
  const script = defineScript(
    'npm run demo:deadlock --',
    'Shows the deadlock of doorbells, and that doorbell overflow avoids it.',
  );
  const { seed } = readOptions<{ seed: number }>(script.option('--seed <N>', 'The seed.', wholeNumber(), 14));
  process.stdout.write(formatRuns(seed, runAll(seed)));
});
