// SPDX-License-Identifier: Apache-2.0
//
// The in-kernel tests by hand: `npx tsx guest-tests/run-guest-cases.ts [--count N] [--seed N] [--only CASE] [--console] [--device ARGUMENT]... [SUITE...]`.
// Prints each result as it comes, then the faults, and ends with 1 when anything failed.

import { parseArgs } from 'node:util';
import { runEntry } from '../qemu/setup/errors.ts';
import { type GuestRunOptions, runGuestCases } from './harness/guest-run.ts';
import type { KtapResult } from './harness/ktap.ts';

const started = performance.now();

await runEntry(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
      console: { type: 'boolean' },
      device: { type: 'string', multiple: true },
    },
  });
  const options: GuestRunOptions = {
    ...(positionals.length > 0 ? { suites: positionals } : {}),
    ...(values.count === undefined ? {} : { count: Number(values.count) }),
    ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
    ...(values.only === undefined ? {} : { only: values.only }),
    ...(values.console ? { onConsoleLine: (line: string) => process.stdout.write(`| ${line}\n`) } : {}),
    ...(values.device === undefined ? {} : { deviceArguments: values.device }),
    onResult: print,
  };
  const { results, faults, seconds } = await runGuestCases(options);
  for (const fault of faults) process.stdout.write(`fault: ${fault}\n`);
  const cases = results.filter(({ parent }) => !parent);
  const failed = cases.filter(({ ok }) => !ok);
  process.stdout.write(
    `${cases.length - failed.length} passed, ${failed.length} failed, ${faults.length} faults, ${seconds.toFixed(1)} s\n`,
  );
  if (failed.length + faults.length > 0) process.exitCode = 1;
});

function print({ path, ok, skipped, diagnostics, durationMs }: KtapResult): void {
  const verdict = skipped === undefined ? (ok ? 'ok     ' : 'NOT OK ') : 'skipped';
  const seconds = ((performance.now() - started) / 1000).toFixed(2).padStart(7);
  process.stdout.write(
    `${seconds} ${verdict} ${path.join('/')} ${durationMs === undefined ? '' : `${durationMs} ms`} ${skipped ?? ''}\n`,
  );
  for (const line of diagnostics) if (!line.startsWith('duration_ms')) process.stdout.write(`        ${line}\n`);
}
