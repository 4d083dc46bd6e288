// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run invariants -- [--seeds N] [--steps M] [--seed S]`: seeded random load on whole adapters, everything checked after every step. A failure names the seed and how to replay it.
 * A seed is N worlds' number; `--seed S --seeds 1` runs that one alone.
 */
import { parseArgs } from 'node:util';
import { World } from '../device/conformance/qos/world.ts';

const PROGRESS_MS = 2000;
const PIECE = 1000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    steps: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
});
const first = Number(values.seed);
const end = first + Number(values.seeds);
const stepsPerSeed = Number(values.steps);
const started = performance.now();
let shown = started;
let steps = 0;
let messages = 0;
for (let seed = first; seed < end; seed++) runSeed(seed);
show(end - 1);

function runSeed(seed: number): void {
  let world: World | undefined;
  try {
    world = new World(seed);
    for (let left = stepsPerSeed; left > 0; left -= PIECE) {
      const piece = Math.min(left, PIECE);
      world.run(piece);
      steps += piece;
      if (performance.now() - shown > PROGRESS_MS) show(seed);
    }
    world.rest();
    messages += world.messages;
  } catch (cause) {
    process.stdout.write(`${world === undefined ? '' : `${JSON.stringify(world.summary)}\n`}`);
    process.stdout.write(
      `seed ${seed} failed; again: npm run invariants -- --seed ${seed} --seeds 1 --steps ${stepsPerSeed}\n`,
    );
    throw cause;
  }
  if (Number(values.seeds) <= 4) process.stdout.write(`seed ${seed}: ${JSON.stringify(world.summary)}\n`);
}

function show(seed: number): void {
  shown = performance.now();
  const seconds = (shown - started) / 1000;
  process.stdout.write(
    `seed ${seed}: ${steps} steps, ${messages} messages, ${seconds.toFixed(1)} s, ${Math.round(steps / seconds)} steps/s, nothing wrong\n`,
  );
}
