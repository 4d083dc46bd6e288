// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- invariants [--seeds N] [--steps M] [--seed S] [--jobs J]`: seeded random
 * load on whole adapters, with every invariant checked after every step. A failure names the seed
 * and the command that replays it.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { AdapterLoad } from '../../device/rig/qos/adapter-load.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const PROGRESS_MS = 5000;
const CHECKED = `after every step:
PCBs are conserved; each is bound to at most one VCB, and each VCB to at most one PCB;
credits add up to their total and are those that commands hold; private credits exist;
no lane with work starves; commands of a queue pair are listed once, in order, without a gap;
registers agree with the state of the adapter;
at every refused bind, the refused function had no unused guarantee, and the shared pool was empty;
at every completion, none is missing, duplicated or out of order, and all data arrived;
at rest, every 400 steps, nothing is lost and nothing is left in use`;

type Totals = Record<string, number>;

interface Options {
  readonly seeds: number;
  readonly steps: number;
  readonly seed: number;
  readonly jobs: number;
  /** For one of several processes: it runs every `stride`th seed and reports to its parent. */
  readonly stride?: number;
}

await runEntry(async () => {
  const script = defineScript(
    'npm run simulate -- invariants',
    'Loads whole adapters at random and checks all invariants after each step.',
  )
    .option('--seeds <N>', 'How many seeds.', wholeNumber(1), 200)
    .option('--steps <M>', 'Steps of each seed.', wholeNumber(1), 10_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1)
    .option('--jobs <J>', 'How many processes.', wholeNumber(1), availableParallelism())
    .addOption(new Option('--stride <N>').argParser(wholeNumber(1)).hideHelp());
  const options = readOptions<Options>(script);
  if (options.stride === undefined) return divide(options);
  const end = options.seed + options.seeds;
  for (let seed = options.seed; seed < end; seed += options.stride) process.send?.(runSeed(seed, options.steps));
});

/** Runs one seed; returns its counts. Throws when an invariant is broken. */
function runSeed(seed: number, steps: number): Totals {
  const load = new AdapterLoad(seed);
  try {
    load.run(steps);
    load.drain();
  } catch (cause) {
    process.stdout.write(`${JSON.stringify(load.summary)}\n`);
    process.stdout.write(
      `seed ${seed} failed; repeat it: npm run simulate -- invariants --seed ${seed} --seeds 1 --steps ${steps}\n`,
    );
    throw cause;
  }
  return { seeds: 1, steps: load.steps, ...load.summary };
}

/** Divides the seeds among processes and prints what they counted. */
async function divide(options: Options): Promise<void> {
  const started = performance.now();
  let shown = started;
  const totals: Totals = {};
  const show = (): void => {
    shown = performance.now();
    process.stdout.write(`${((shown - started) / 1000).toFixed(0)} s: ${JSON.stringify(totals)}\n`);
  };
  const add = (counts: Totals): void => {
    for (const [name, count] of Object.entries(counts))
      totals[name] = name === 'longestWait' ? Math.max(totals[name] ?? 0, count) : (totals[name] ?? 0) + count;
    if (performance.now() - shown > PROGRESS_MS) show();
  };
  const stride = Math.min(options.jobs, options.seeds);
  const jobs = Array.from({ length: stride }, (_, job) => ({
    ...options,
    seed: options.seed + job,
    seeds: options.seeds - job,
    stride,
  }));
  const codes = await Promise.all(jobs.map((job) => runJob(job, add)));
  show();
  if (codes.some((code) => code !== 0)) {
    process.exitCode = 1;
    return;
  }
  const last = options.seed + options.seeds - 1;
  process.stdout.write(`seeds ${options.seed} to ${last}, ${totals.steps} steps, nothing wrong. Checked ${CHECKED}\n`);
}

/** One process; resolves to its exit code. */
function runJob(
  { seed, seeds, steps, stride }: Required<Options>,
  add: (counts: Totals) => void,
): Promise<number | null> {
  const range = Object.entries({ seed, seeds, steps, stride }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = fork(fileURLToPath(import.meta.url), range);
  child.on('message', (counts) => add(counts as Totals));
  return new Promise((resolve) => child.on('exit', resolve));
}
