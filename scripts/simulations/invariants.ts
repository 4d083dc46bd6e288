// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run invariants -- [--seeds N] [--steps M] [--seed S] [--jobs J]`: seeded random load on whole adapters, everything checked after every step; 2 million steps unless told otherwise, divided among as many
 * processes as there are processors. A failure names the seed and how to replay it: `--seed S --seeds 1` runs that world alone.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { World } from '../../device/simulations/qos/world.ts';

const PROGRESS_MS = 5000;
const CHECKED = `after every step: PCBs are conserved; each is bound to one VCB at most, and each VCB to one; credits sum up to what there is and are what commands hold; private ones are there;
no lane with work starves; commands of a queue pair are listed once, in order, without a gap; what registers show agrees; at every refused bind: no guarantee of the refused was unused, nor is what all share
free; at every completion: none is missing, twice or out of order, all data arrived; at rest, every 400 steps: nothing is lost, nothing is left in use`;

type Totals = Record<string, number>;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    steps: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: `${availableParallelism()}` },
    stride: { type: 'string', default: '0' },
  },
});
const first = Number(values.seed);
const end = first + Number(values.seeds);
const stepsPerSeed = Number(values.steps);
if (values.stride === '0') await divide(Math.min(Number(values.jobs), end - first));
else for (let seed = first; seed < end; seed += Number(values.stride)) process.send?.(runSeed(seed));

/** Runs one world; returns its counts. Ends the process with 1 when something is wrong. */
function runSeed(seed: number): Totals {
  const world = new World(seed);
  try {
    world.run(stepsPerSeed);
    world.rest();
  } catch (cause) {
    process.stdout.write(`${JSON.stringify(world.summary)}\n`);
    process.stdout.write(
      `seed ${seed} failed; again: npm run invariants -- --seed ${seed} --seeds 1 --steps ${stepsPerSeed}\n`,
    );
    throw cause;
  }
  return { seeds: 1, steps: world.steps, ...world.summary };
}

/** Lets `jobs` processes run every `jobs`th seed each. */
async function divide(jobs: number): Promise<void> {
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
  const codes = await Promise.all(Array.from({ length: jobs }, (_, job) => runJob(first + job, jobs, add)));
  show();
  if (codes.some((code) => code !== 0)) process.exitCode = 1;
  else process.stdout.write(`seeds ${first} to ${end - 1}, ${totals.steps} steps, nothing wrong. Checked ${CHECKED}\n`);
}

/** One process; resolves to its exit code. */
function runJob(seed: number, stride: number, add: (counts: Totals) => void): Promise<number | null> {
  const range = ['--seed', `${seed}`, '--seeds', `${end - seed}`, '--stride', `${stride}`];
  const child = fork(fileURLToPath(import.meta.url), [...range, '--steps', `${stepsPerSeed}`]);
  child.on('message', (counts) => add(counts as Totals));
  return new Promise((resolve) => child.on('exit', resolve));
}
