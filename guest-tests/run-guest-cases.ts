// SPDX-License-Identifier: Apache-2.0
/**
 * The in-kernel tests by hand:
 * `node --import=#typescript guest-tests/run-guest-cases.ts [OPTION...] [SUITE...]`.
 * Prints each result as it arrives, then the faults, and ends with 1 on any failure.
 */
import { runEntry } from '../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../qemu/setup/tools/script-options.ts';
import type { GuestRunOptions } from './harness/guest-run.ts';
import type { TestResult } from './harness/guest-session.ts';
import { type CaseOptions, runGuestCases } from './harness/kernel-cases.ts';

interface Options {
  readonly count?: number;
  readonly seed?: number;
  readonly only?: string;
  readonly kernel?: string;
  readonly console?: boolean;
  readonly driver?: string;
  readonly device?: readonly string[];
}

const started = performance.now();

await runEntry(async () => {
  const script = defineScript(
    'node --import=#typescript guest-tests/run-guest-cases.ts',
    'Runs in-kernel tests in a guest.',
  )
    .argument('[SUITE...]', 'Suites to run; all without any.')
    .option('--count <N>', 'Datagrams of the bulk tests.', wholeNumber(1))
    .option('--seed <N>', 'Seed of everything random in the guest.', wholeNumber())
    .option('--only <CASE>', 'The one case to run in each suite.')
    .option('--kernel <VERSION>', "The guest's kernel: trixie (default), bookworm, backports, or a version.")
    .option('--console', "Prints the log of the guest's kernel.")
    .option('--driver <PARAMETERS>', 'Parameters of the driver, for instance "collect=always poll=0".')
    .option('--device <ARGUMENT>', 'An argument of the adapter process, for instance --device=--functions=2.', collect);
  const { count, seed, only, kernel, console, driver, device } = readOptions<Options>(script);
  const options: CaseOptions & GuestRunOptions = {
    ...(script.args.length > 0 ? { suites: script.args } : {}),
    ...(count === undefined ? {} : { count }),
    ...(seed === undefined ? {} : { seed }),
    ...(only === undefined ? {} : { only }),
    ...(kernel === undefined ? {} : { kernel }),
    ...(console ? { onKernelLine: (line: string) => process.stdout.write(`| ${line}\n`) } : {}),
    ...(driver === undefined ? {} : { driverParameters: driver }),
    ...(device === undefined ? {} : { deviceArguments: device }),
    onResult: print,
  };
  const { results, faults, seconds } = await runGuestCases(options);
  for (const { text } of faults) process.stdout.write(`fault: ${text}\n`);
  const cases = results.filter(({ parent }) => !parent);
  const failed = cases.filter(({ ok }) => !ok);
  const counts = [`${cases.length - failed.length} passed`, `${failed.length} failed`, `${faults.length} faults`];
  process.stdout.write(`${counts.join(', ')}, ${seconds.toFixed(1)} s\n`);
  if (failed.length + faults.length > 0) process.exitCode = 1;
});

function collect(argument: string, before: readonly string[] = []): string[] {
  return [...before, argument];
}

function print({ path, ok, skipped, diagnostics, durationMs }: TestResult): void {
  const verdict = skipped === undefined ? (ok ? 'ok     ' : 'NOT OK ') : 'skipped';
  const seconds = ((performance.now() - started) / 1000).toFixed(2).padStart(7);
  process.stdout.write(
    `${seconds} ${verdict} ${path.join('/')} ${durationMs === undefined ? '' : `${durationMs} ms`} ${skipped ?? ''}\n`,
  );
  for (const line of diagnostics) if (!line.startsWith('duration_ms')) process.stdout.write(`        ${line}\n`);
}
