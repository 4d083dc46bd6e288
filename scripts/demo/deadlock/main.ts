// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- deadlock [--seed N | --guest]`: the deadlock that doorbells can run into
 * (US9069485), and the same load with doorbell overflow. It runs in process, within a second, or in
 * a guest.
 */
import { runEntry } from '../../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../../qemu/setup/tools/script-options.ts';
import { formatCases, runInGuest } from './guest.ts';
import { formatRuns, runAll } from './report.ts';

await runEntry(async () => {
  const script = defineScript(
    'npm run demo -- deadlock',
    'Shows the deadlock of doorbells, and that doorbell overflow avoids it.',
  );
  script
    .option('--seed <N>', 'The seed.', wholeNumber(), 14)
    .option('--guest', 'Kernel tests in a guest, in real time.');
  const { seed, guest } = readOptions<{ seed: number; guest?: boolean }>(script);
  if (guest !== true) {
    process.stdout.write(formatRuns(seed, runAll(seed)));
    return;
  }
  const cases = await runInGuest();
  process.stdout.write(formatCases(cases));
  if (!cases.every(({ ok }) => ok)) process.exitCode = 1;
});
