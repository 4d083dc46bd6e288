// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- chaos [--seeds N] [--seed S] [--dma-latency NS] [--placement] [--personality
 * NAME] [--replay] [--hours N]`: connections over bad links, checked by an oracle that knows every
 * byte and completion. Runs the seeds on every processor and names those that failed. `--replay`
 * runs one seed twice, prints its plan and its events, and compares both runs. `--hours` keeps two
 * adapters for that many hours of simulated time.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { type Life, liveLong } from '../../device/rig/chaos/long-run.ts';
import { runChaos } from '../../device/rig/chaos/run.ts';
import { runEntry, UsageError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { describeShare, parseShard, type Shard, takeRange } from '../console/shard.ts';
import { writeSummary } from '../shards/summary.ts';
import type { ChaosBatch, ChaosReport } from './chaos-worker.ts';
import { type Personality, personalityChaos } from './personality-chaos.ts';

const WORKER = fileURLToPath(new URL('./chaos-worker.ts', import.meta.url));
/**
 * Every processor has a worker; garbage collection in further threads would only take time from
 * them.
 */
const WORKER_OPTIONS = ['--import=#typescript', '--single-threaded-gc'];
/** Seeds of one batch. */
const BATCH = 100;
const FAILURES_SHOWN = 20;
const NS_PER_HOUR = 3600e9;
const PROGRESS_MS = 5000;

interface Options {
  readonly seeds: number;
  readonly seed: number;
  readonly dmaLatency: number;
  readonly placement?: boolean;
  readonly personality: ChaosBatch['personality'];
  readonly replay?: boolean;
  readonly hours?: number;
  readonly shard?: Shard;
}

/** The seeds of a shard; prints how many the other shards have. */
function shareSeeds({ seed, seeds, shard }: Options): Pick<Options, 'seed' | 'seeds'> {
  if (shard === undefined) return { seed, seeds };
  const { first, size } = takeRange(seed, seeds, shard);
  process.stdout.write(`${describeShare(shard, size, seeds, `seeds, from seed ${first} on`)}\n`);
  return { seed: first, seeds: size };
}

/** The command line that repeats a seed, or all of them. */
function commandOf({ dmaLatency, placement = false, personality }: Options, words: string): string {
  const latency = dmaLatency === 0 ? '' : ` --dma-latency ${dmaLatency}`;
  const which = personality === 'vuhca' ? '' : ` --personality ${personality}`;
  return `npm run simulate -- chaos ${words}${latency}${placement ? ' --placement' : ''}${which}`;
}

async function runSeeds(options: Options): Promise<number> {
  const { shard } = options;
  const { failures, done } = await tryAll({ ...options, ...shareSeeds(options) });
  if (shard !== undefined) {
    const path = writeSummary('chaos', {
      ...shard,
      command: commandOf(options, `--seed ${options.seed} --seeds ${options.seeds}`),
      passed: done - failures.length,
      failed: failures.length,
      failures: failures.map(({ seed, error }) => `seed ${seed} failed: ${error}`),
    });
    process.stdout.write(`results: ${path}\n`);
  }
  return failures.length === 0 ? 0 : 1;
}

/** Runs the seeds and prints those that failed. */
async function tryAll(options: Options): Promise<{ failures: ChaosReport['failures']; done: number }> {
  const { seed: first, seeds: count, dmaLatency: dmaLatencyNs, placement = false, personality } = options;
  const started = performance.now();
  const failures: ChaosReport['failures'] = [];
  let next = first;
  let done = 0;
  const worker = async (): Promise<void> => {
    const child = fork(WORKER, { execArgv: WORKER_OPTIONS });
    while (next < first + count) {
      const batch: ChaosBatch = {
        first: next,
        count: Math.min(BATCH, first + count - next),
        dmaLatencyNs,
        placement,
        personality,
      };
      next += batch.count;
      const report = await ask(child, batch);
      failures.push(...report.failures);
      done += batch.count;
    }
    child.kill();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), Math.ceil(count / BATCH)) }, worker));
  const seconds = (performance.now() - started) / 1000;
  failures.sort((left, right) => left.seed - right.seed);
  for (const { seed, error, digest } of failures.slice(0, FAILURES_SHOWN)) {
    process.stdout.write(`seed ${seed} failed (trace ${digest}): ${error}\n`);
    process.stdout.write(`  ${commandOf(options, `--seed ${seed}`)} --replay\n`);
  }
  process.stdout.write(
    `${done} seeds in ${seconds.toFixed(1)} s, ${(done / seconds).toFixed(0)} seeds/s, ${failures.length} failed\n`,
  );
  return { failures, done };
}

/** Sends a batch to a worker and waits for its report. */
function ask(child: ChildProcess, batch: ChaosBatch): Promise<ChaosReport> {
  return new Promise((resolve, reject) => {
    const fail = (status: number | null): void => reject(new Error(`A worker ended with status ${status}.`));
    child.once('exit', fail);
    child.once('message', (report) => {
      child.off('exit', fail);
      resolve(report as ChaosReport);
    });
    child.send(batch);
  });
}

function replay({ seed, dmaLatency: dmaLatencyNs, placement = false, personality }: Options): number {
  if (personality !== 'vuhca') return replayPersonality(seed, personality);
  const options = { keepTrace: true, dmaLatencyNs, placement };
  const [first, second] = [runChaos(seed, options), runChaos(seed, options)];
  process.stdout.write(`${JSON.stringify(first.plan, undefined, 2)}\n`);
  for (const line of first.trace.lines) process.stdout.write(`${line}\n`);
  const same = first.trace.digest === second.trace.digest && first.error === second.error;
  process.stdout.write(
    `trace ${first.trace.digest}: ${same ? 'the same twice' : `NOT the same: ${second.trace.digest}`}\n`,
  );
  process.stdout.write(`${first.error ?? 'no error'}\n`);
  return same && first.error === undefined ? 0 : 1;
}

/** Such a run prints no events. */
function replayPersonality(seed: number, personality: Personality): number {
  const [first, second] = [personalityChaos[personality](seed), personalityChaos[personality](seed)];
  process.stdout.write(`${first === second ? 'the same twice' : `NOT the same: ${second ?? 'no error'}`}\n`);
  process.stdout.write(`${first ?? 'no error'}\n`);
  return first === second && first === undefined ? 0 : 1;
}

/** One pair of adapters through the runs of many seeds. */
function runLong(seed: number, hours: number): number {
  const started = performance.now();
  let said = started;
  let last: Life | undefined;
  const say = ({ runs, livedNs, error }: Life): void => {
    said = performance.now();
    const seconds = ((said - started) / 1000).toFixed(1);
    const lived = (livedNs / NS_PER_HOUR).toFixed(2);
    process.stdout.write(
      `${seconds.padStart(7)} s  ${runs} runs in ${lived} simulated hours, ${error ?? 'nothing left'}\n`,
    );
  };
  for (const life of liveLong(seed, hours * NS_PER_HOUR)) {
    last = life;
    if (performance.now() - said > PROGRESS_MS) say(life);
  }
  if (last !== undefined) say(last);
  if (last?.error === undefined) return 0;
  process.stdout.write(`  npm run simulate -- chaos --hours ${hours} --seed ${seed}\n`);
  return 1;
}

await runEntry(async () => {
  const script = defineScript('npm run simulate -- chaos', 'Runs connections over bad links under an oracle.')
    .option('--seeds <N>', 'How many seeds to run.', wholeNumber(1), 1000)
    .option('--seed <S>', 'The first of them.', wholeNumber(), 1)
    .option('--dma-latency <NS>', 'Time that reads of guest memory take.', wholeNumber(), 0)
    .option('--placement', 'FLUSH and ATOMIC WRITE are among the requests.')
    .addOption(
      new Option('--personality <NAME>', 'Whose data path.')
        .choices(['vuhca', ...Object.keys(personalityChaos)])
        .default('vuhca'),
    )
    .option('--replay', 'Runs one seed twice, prints its events and compares both runs.')
    .option('--hours <N>', 'Two adapters live for so many simulated hours, through seed after seed.', wholeNumber(1))
    .option('--shard <I/N>', 'Runs one of N shares of the seeds, for `npm run shards`.', parseShard);
  const options = readOptions<Options>(script);
  const { seed, replay: isReplay, hours, shard } = options;
  if (shard !== undefined && (isReplay || hours !== undefined))
    throw new UsageError('--shard divides --seeds, so it cannot be given with --replay or --hours.');
  if (hours !== undefined) process.exitCode = runLong(seed, hours);
  else process.exitCode = isReplay ? replay(options) : await runSeeds(options);
});
