// SPDX-License-Identifier: Apache-2.0
/**
 * A few seconds of `npm run simulate -- sanitize` (docs/HAZARDS.md): the clean driver passes all
 * seeds, and each planted bug fails one. sanitize.long.ts has further seeds.
 */
import t from 'tap';
import { seedsOf } from '../fixtures/seeds.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runSanitize } from './run.ts';

const ALL_SEEDS = 30;
const FEW_SEEDS = 10;

/**
 * Number of seeds of which one must show a bug; each does with a probability of at least a third.
 */
const BUG_SEEDS = Array.from({ length: ALL_SEEDS }, (_, index) => index + 1);

t.test('the clean driver survives every seed', async (t) => {
  for (const seed of seedsOf(FEW_SEEDS, ALL_SEEDS)) t.equal(runSanitize(seed).error, undefined, `seed ${seed}`);
});

for (const bug of plantedBugs) {
  t.test(`caught: a driver that ${bug.what}`, async (t) => {
    const seed = BUG_SEEDS.find((seed) => runSanitize(seed, bug).error !== undefined);
    t.ok(seed, `npm run simulate -- sanitize --bug ${bug.name}`);
  });
}

t.test('the same seed gives the same run', async (t) => {
  for (const seed of [1, 2, 3]) t.equal(runSanitize(seed).trace.digest, runSanitize(seed).trace.digest, `seed ${seed}`);
});
