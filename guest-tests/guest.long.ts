// SPDX-License-Identifier: Apache-2.0
/**
 * The suites that guest.test.ts leaves out, and those that it runs with smaller counts, on the same
 * kernel, with the sizes of the acceptance criteria.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { BULK_SUITES, LONG_SUITES } from './long-suites.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the suites that take long, and the bulk ones at full size, with the default adapter', async (t) => {
  report(t, await runGuestCases({ suites: [...new Set([...LONG_SUITES, ...BULK_SUITES])] }));
});
