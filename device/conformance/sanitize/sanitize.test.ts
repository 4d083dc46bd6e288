// SPDX-License-Identifier: Apache-2.0
/** A few seconds of `npm run sanitize`: the clean driver under some seeds, and each planted bug under one seed that is known to show it. */
import t from 'tap';
import { findBug } from './matrix.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runSanitize } from './run.ts';

const CLEAN_SEEDS = 30;

/** First seed that shows each bug; when the workload changes, `npm run sanitize` says the new ones. */
const SHOWN_BY: Readonly<Record<string, number>> = {
  'body-before-sequence': 6,
  'no-recheck-after-arm': 2,
  'pending-cleared-late': 6,
  'primary-after-scan': 39,
  'secondary-after-scan': 6,
  'no-deadman': 10,
  'stale-event': 2,
  'cq-consumer-early': 5,
  'eq-consumer-early': 1,
  'matched-by-order': 1,
  'doorbell-before-entry': 1,
  'page-released-early': 1,
  'credit-read-twice': 1,
  'credit-in-halves': 39,
  'credit-without-wrap': 6,
  'force-without-edge': 10,
};

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
