// SPDX-License-Identifier: Apache-2.0
/** A run of guest-variants.long.ts that is drawn by a seed, with a further seed. */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { orderedRun } from './seeded-runs.ts';

// The session ends a silent guest.
t.setTimeout(0);

t.test('memory that lags and is disordered, a further seed', async (t) => {
  report(t, await runGuestCases(orderedRun(2)));
});
