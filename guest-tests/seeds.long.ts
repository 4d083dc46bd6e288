// SPDX-License-Identifier: Apache-2.0
/**
 * The suites of guest.test.ts at full size, and the runs of guest-variants.long.ts that are drawn
 * by a seed with further seeds.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { combinedRun, orderedRun } from './seeded-runs.ts';

// A silent guest is ended by its session.
t.setTimeout(0);

t.test('every suite, with the sizes of the acceptance criteria', async (t) => {
  report(t, await runGuestCases());
});

t.test('memory that lags and is disordered, a further seed', async (t) => {
  report(t, await runGuestCases(orderedRun(2)));
});
t.test('combined stores, a further seed', async (t) => {
  report(t, await runGuestCases(combinedRun(4)));
});
