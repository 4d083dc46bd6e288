// SPDX-License-Identifier: Apache-2.0
/** The runs of guest-variants.long.ts that are drawn by a seed, with further seeds. */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { combinedRun, orderedRun } from './seeded-runs.ts';

// A silent guest is ended by its session.
t.setTimeout(0);

t.test('memory that lags and is disordered, a further seed', async (t) => {
  report(t, await runGuestCases(orderedRun(2)));
});
t.test('combined stores, a further seed', async (t) => {
  report(t, await runGuestCases(combinedRun(4)));
});
