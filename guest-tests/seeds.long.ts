// SPDX-License-Identifier: Apache-2.0
/**
 * A run of guest-variants.long.ts that is drawn by a seed, with a further seed. It runs if
 * VUHCA_LARGE is set.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { orderedRun } from './seeded-runs.ts';

// The session ends a silent guest.
t.setTimeout(0);

const large = process.env.VUHCA_LARGE ? {} : { skip: 'a further seed: set VUHCA_LARGE' };

t.test('memory that lags and is disordered, a further seed', large, async (t) => {
  report(t, await runGuestCases(orderedRun(2)));
});
