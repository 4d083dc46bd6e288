// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run isolation -- [--acts N] [--seed S]`: hostile writes, doorbells, descriptors and commands of one function beside two others at work, and the same work without them. What the
 * others can see must be equal; ends with 1 when it is not.
 */
import { parseArgs } from 'node:util';
import { Isolation } from '../../device/simulations/qos/isolation.ts';

const ACTS_PER_ROUND = 500;
/** Rounds of one seed: then both adapters start afresh. */
const ROUNDS_PER_SEED = 1000;
const PROGRESS_MS = 2000;

const { values } = parseArgs({
  options: { acts: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' } },
});
const wanted = Number(values.acts);
const started = performance.now();
let shown = started;
let done = 0;
for (let seed = Number(values.seed); done < wanted; seed++) {
  const [attacked, alone] = [new Isolation(seed), new Isolation(seed)];
  for (let round = 0; round < ROUNDS_PER_SEED && done < wanted; round++) {
    attacked.round(ACTS_PER_ROUND);
    alone.round(0);
    done += ACTS_PER_ROUND;
    if (performance.now() - shown > PROGRESS_MS) show(seed);
  }
  const differences = attacked.findDifferences(alone);
  if (differences.length > 0) {
    process.stdout.write(`seed ${seed}: the attacker changed ${differences.join(', ')}\n`);
    process.exit(1);
  }
}
process.stdout.write(`${done} hostile acts: registers, memory and completions of the others are as without them\n`);

function show(seed: number): void {
  shown = performance.now();
  process.stdout.write(`${done} hostile acts, ${((shown - started) / 1000).toFixed(1)} s, seed ${seed}\n`);
}
