// SPDX-License-Identifier: Apache-2.0
/** A few seconds of `npm run sanitize`: the clean driver under some seeds, and each planted bug under one seed that is known to show it. */
import t from 'tap';
import { findBug } from './matrix.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runSanitize } from './run.ts';

const CLEAN_SEEDS = 30;

/** First seed that shows each bug; when the workload changes, `npm run sanitize` says the new ones. */
const SHOWN_BY: Readonly<Record<string, number>> = {};

t.test(`the clean driver survives ${CLEAN_SEEDS} seeds`, async (t) => {
  for (let seed = 1; seed <= CLEAN_SEEDS; seed++) t.equal(runSanitize(seed).error, undefined, `seed ${seed}`);
});

for (const { name, what } of plantedBugs) {
  t.test(`caught: a driver that ${what}`, async (t) => {
    const seed = SHOWN_BY[name];
    t.type(
      runSanitize(seed, findBug(name)).error,
      'string',
      `npm run sanitize -- --bug ${name} --seed ${seed} --replay`,
    );
    t.equal(runSanitize(seed).error, undefined, 'and the clean driver is not');
  });
}

t.test('the same seed takes the same steps', async (t) => {
  for (const seed of [1, 2, 3]) t.equal(runSanitize(seed).trace.digest, runSanitize(seed).trace.digest, `seed ${seed}`);
});
