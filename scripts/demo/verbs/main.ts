// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- verbs`: RDMA programs of Debian on our verbs, the stock driver and soft-RoCE,
 * side by side. Two guests have an adapter of each kind, behind one switch with the built-in subnet
 * manager; each program runs on all of them in turns. With `--bench` one guest has them, and ratios
 * to soft-RoCE are shown beside their goals, with the cost of a message over 1,000 queue pairs; a
 * second guest then shows our verbs where processors take turns on one thread; with `--habits` it
 * shows habits of software for RoCE that differ from the requirements of InfiniBand. Ends with 1
 * when a test fails on one of ours.
 */

import { BASE_PACKAGES, installMissingPackages } from '../../../qemu/setup/system-packages.ts';
import { runEntry, SetupError } from '../../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../../qemu/setup/tools/script-options.ts';
import { FigureReader } from '../../foreign/figures.ts';
import { runAll } from '../../foreign/run-all.ts';
import { runPeerSuites } from '../../foreign/run-peers.ts';
import { type ForeignOptions, type ForeignRun, runForeignSuites } from '../../foreign/run-suites.ts';
import { ADAPTERS, type AdapterName, concerns, type ForeignResult, readNames } from '../../foreign/suites.ts';
import { HabitReader } from './habits.ts';
import { formatComparison, formatPairs, formatRatios, formatStream, isOurs } from './report.ts';

interface Options {
  readonly adapter: string;
  readonly bench?: boolean;
  readonly habits?: boolean;
  readonly short?: boolean;
  readonly log?: boolean;
}

const COMPARED: readonly AdapterName[] = ['vuhca', 'mthca', 'rxe'];
/** Lines of the report that show progress. */
const PROGRESS = /^# (comparing|trying) /;
const started = performance.now();

await runEntry(async () => {
  const script = defineScript(
    'npm run demo -- verbs',
    'Runs RDMA programs on our verbs, ib_mthca and soft-RoCE, side by side.',
  )
    .option('--adapter <NAMES>', `These adapters: ${ADAPTERS.join(', ')}.`, COMPARED.join())
    .option('--bench', 'Ratios to soft-RoCE in one guest, beside their goals.')
    .option('--habits', 'What software for RoCE does otherwise than InfiniBand wants.')
    .option('--short', 'One round.')
    .option('--log', "Prints the log of the guests' kernels.");
  const { adapter, bench = false, habits = false, short = false, log = false } = readOptions<Options>(script);
  if (bench && habits) throw new SetupError('say --bench or --habits, not both');
  await installMissingPackages(BASE_PACKAGES);
  const adapters = readNames('--adapter', adapter, ADAPTERS);
  const scene = (bench ? compareWithGoals : habits ? tryHabits : comparePrograms)(adapters);
  say(`starting ${scene.guests} with ${adapters.join(', ')}`);
  const run = await scene.run({
    adapters,
    suites: [scene.suite],
    short,
    onResult: sayResult,
    onReport: (line) => {
      scene.push(line);
      if (PROGRESS.test(line)) say(line.slice('# '.length));
    },
    ...(log ? { onKernelLine: (line: string) => process.stdout.write(`| ${line}\n`) } : {}),
  });
  for (const fault of run.faults) process.stdout.write(`fault: ${fault}\n`);
  process.stdout.write(`\n${scene.format()}`);
  const failed = run.results.filter((result) => result.verdict === 'fail' && isOurs(result)).length + run.faults.length;
  process.stdout.write(`\n${run.results.length} tests ran, ${failed} failed on our adapters\n`);
  process.exitCode = failed > 0 || run.results.length === 0 ? 1 : 0;
});

/** A suite that guests run, and the reader of their report. */
interface Scene {
  readonly guests: 'a guest' | 'two guests';
  /** Name of a script in guest-tests/foreign. */
  readonly suite: string;
  run(options: ForeignOptions): Promise<ForeignRun>;
  push(line: string): void;
  format(): string;
}

function comparePrograms(adapters: readonly AdapterName[]): Scene {
  const figures = new FigureReader();
  const format = (): string => formatComparison(figures, adapters);
  return { guests: 'two guests', suite: 'comparison', run: runPeerSuites, push: (line) => figures.push(line), format };
}

function compareWithGoals(adapters: readonly AdapterName[]): Scene {
  const figures = new FigureReader();
  const format = (): string =>
    [formatRatios, formatStream, formatPairs].map((part) => part(figures, adapters)).join('\n');
  const suites = (['figures', 'turns'] as const).filter((suite) => concerns(suite, adapters));
  const run = (options: ForeignOptions): Promise<ForeignRun> => runAll({ ...options, suites });
  return { guests: 'a guest', suite: 'figures', run, push: (line) => figures.push(line), format };
}

function tryHabits(adapters: readonly AdapterName[]): Scene {
  const habits = new HabitReader();
  const format = (): string => habits.format(adapters);
  return { guests: 'a guest', suite: 'habits', run: runForeignSuites, push: (line) => habits.push(line), format };
}

function sayResult({ name, verdict, diagnostics }: ForeignResult): void {
  say(`${verdict === 'fail' ? 'NOT OK' : 'ok'} ${name}`);
  if (verdict === 'fail') for (const line of diagnostics) process.stdout.write(`          ${line}\n`);
}

function say(text: string): void {
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}
