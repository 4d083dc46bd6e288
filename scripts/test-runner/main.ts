// SPDX-License-Identifier: Apache-2.0
/**
 * `npm test` and `npm run test:all`: sets everything up, runs the tests with tap, and ends with
 * the line "N passed, N failed". Files may be named: `npm test -- FILE.test.ts`. The whole TAP
 * output is kept in build/test.tap, that of `npm run test:long` in build/test-long.tap, and that
 * of some files in build/test-some.tap.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runEntry, UsageError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { describeShare, parseShard, type Shard, takeShare } from '../console/shard.ts';
import { setUp } from '../setup/set-up.ts';
import { writeSummary } from '../shards/summary.ts';
import { chooseChanged } from './changed-tests.ts';
import { findNamed, findTests, ROOT, type Tier, writeModules } from './choose-tests.ts';
import { describeCosts, describeTotal, ReferenceRuns } from './cost-report.ts';
import { longestFirst, mergeTimes, readKnownTimes, writeKnownTimes } from './known-times.ts';
import { ProcessorTimes, readChildrenSeconds } from './processor-times.ts';
import { Progress } from './progress.ts';
import { JOBS, runProcesses } from './run-processes.ts';
import { TapSummary } from './tap-summary.ts';
import { planProcesses, type TestProcess } from './test-processes.ts';

interface Options {
  readonly long?: boolean;
  readonly all?: boolean;
  readonly changed?: boolean;
  readonly base?: string;
  readonly times?: boolean;
  readonly keep?: boolean;
  readonly shard?: Shard;
}

const SLOWEST = 5;

await runEntry(async () => {
  const script = defineScript('npm test --', 'Runs the tests.')
    .argument('[PATH...]', 'Only these files of tests, and those of these folders.')
    .option('--long', 'Runs the long tests only, those that `npm test` leaves out.')
    .option('--all', 'Runs all tests: `npm run test:all`.')
    .option('--changed', 'Of these, runs what files that differ from a commit can affect.')
    .option(
      '--base <commit>',
      'The commit for --changed; without it, where the branch left main, or else the one before.',
    )
    .option('--times', 'Says what each file costs: processor time by kind of program, and guests.')
    .option('--keep', 'Keeps the times for estimates to come, in scripts/test-runner/times.json.')
    .option('--shard <I/N>', 'Runs one of N shares of the files, for `npm run shards`.', parseShard);
  const options = readOptions<Options>(script);
  const begun = performance.now();
  const files = await chooseFiles(script.args, options);
  if (files.length === 0) return void process.stdout.write('no test is affected\n0 passed, 0 failed\n');
  const { qemu, accelerator } = await setUp('test');
  process.stdout.write(`# QEMU ${qemu.version}, ${accelerator.toUpperCase()}\n`);
  const isWhole = script.args.length === 0 && options.changed !== true;
  const plan = sharePlan(planProcesses(files), options.shard);
  if (plan.length === 0) return void keepSummary(options, { passed: 0, failed: 0 }, []);
  if (!(await runTests(plan, options, isWhole, begun))) process.exitCode = 1;
});

/** The processes of a shard; prints how many the other shards have. */
function sharePlan(plan: readonly TestProcess[], shard: Shard | undefined): readonly TestProcess[] {
  if (shard === undefined) return plan;
  const own = takeShare(longestFirst(plan, readKnownTimes()), shard);
  process.stdout.write(`# ${describeShare(shard, own.length, plan.length, 'processes of tests')}\n`);
  return own;
}

/** Writes the results of a shard; `failures` are the files that failed. */
function keepSummary(
  { long = false, all = false, shard }: Options,
  { passed, failed }: { passed: number; failed: number },
  failures: readonly string[],
): void {
  if (shard === undefined) return;
  const script = all ? 'test:all' : long ? 'test:long' : 'test';
  const command = script === 'test' ? 'npm test' : `npm run ${script}`;
  const path = writeSummary(script.replace(':', '-'), { ...shard, command, passed, failed, failures });
  process.stdout.write(`results: ${path}\n`);
}

/** The files of the tiers, or those that are named, or what a change affects of either. */
async function chooseFiles(words: readonly string[], options: Options): Promise<readonly string[]> {
  const { long = false, all = false, changed = false, base, shard } = options;
  if (base !== undefined && !changed) throw new UsageError('--base needs --changed');
  if (shard !== undefined && (changed || words.length > 0))
    throw new UsageError('--shard divides all tests of a tier: name no files, and leave out --changed');
  const tiers: readonly Tier[] = all ? ['quick', 'long'] : [long ? 'long' : 'quick'];
  if (words.length > 0) return findNamed(words, tiers);
  const files = tiers.flatMap(findTests);
  return changed ? chooseChanged(files, base) : files;
}

/** Runs the processes and prints everything; returns whether every one passed. */
async function runTests(
  plan: readonly TestProcess[],
  options: Options,
  isWhole: boolean,
  begun: number,
): Promise<boolean> {
  const known = readKnownTimes();
  const processes = writeModules(longestFirst(plan, known));
  const expected = plan.map(({ name }) => ({ name, seconds: known[name] }));
  const { stdout } = process;
  const screen = { write: (text: string) => stdout.write(text), columns: stdout.isTTY ? stdout.columns : undefined };
  const progress = new Progress(expected, JOBS, screen);
  const summary = new TapSummary((line) => progress.print(line));
  const costs = options.times ? new ProcessorTimes() : undefined;
  const reference = options.times ? new ReferenceRuns() : undefined;
  const watch = costs?.watch();
  const wall = new Map<string, number>();
  const failed: string[] = [];
  const nameOf = (file: string): string => processes.get(file)?.name ?? file;
  const log = join('build', logName(options, isWhole));
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  await runProcesses([...processes.keys()], join(ROOT, log), {
    begin: ({ file, pid, parser }) => {
      costs?.begin(pid, nameOf(file));
      summary.begin(file, parser);
      progress.begin(nameOf(file));
    },
    end: (ended) => {
      summary.end(ended);
      if (!ended.ok) failed.push(`${nameOf(ended.file)} failed`);
      const note = ended.skipped === undefined ? '' : ` # SKIP ${ended.skipped}`;
      wall.set(nameOf(ended.file), progress.end(nameOf(ended.file), ended.ok, note));
    },
    say: (line) => progress.print(line),
  });
  progress.finish();
  watch?.stop();
  await reference?.stop();
  if (costs !== undefined) stdout.write(`\n${describeCosts(costs.costs(), wall)}`);
  if (options.keep) writeKnownTimes(mergeTimes(known, wall, [...allNames(), ...wall.keys()]));
  process.stdout.write(`\nall output: ${log}\n`);
  keepSummary(options, summary.counts, failed);
  return conclude(summary, wall, (performance.now() - begun) / 1000, reference?.seconds ?? []);
}

/** The file of a whole tier is read by the check of the ledgers, so other runs leave it alone. */
function logName({ long = false, all = false, shard }: Options, isWhole: boolean): string {
  if (!isWhole) return 'test-some.tap';
  const part = shard === undefined ? '' : `-${shard.number}-of-${shard.count}`;
  return long && !all ? `test-long${part}.tap` : `test${part}.tap`;
}

/** Names of all processes that there may be. */
function allNames(): string[] {
  return planProcesses([...findTests('quick'), ...findTests('long')]).map(({ name }) => name);
}

/** Prints the end of a run; returns whether tests ran and none failed. */
function conclude(
  { counts, skips }: TapSummary,
  wall: ReadonlyMap<string, number>,
  seconds: number,
  reference: readonly number[],
): boolean {
  const { passed, failed, skipped } = counts;
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  for (const { reason, file, count } of skips) say(`skipped ${count}: ${reason} (${file})`);
  const slowest = [...wall].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  say(`slowest: ${slowest.map(([name, time]) => `${name} ${time.toFixed(0)} s`).join(', ')}`);
  const processor = readChildrenSeconds() - reference.reduce((sum, one) => sum + one, 0);
  say(describeTotal(processor, seconds, reference));
  if (passed + failed === 0) say('no test was run');
  say(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 && passed > 0;
}
