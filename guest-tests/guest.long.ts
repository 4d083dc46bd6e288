// SPDX-License-Identifier: Apache-2.0
/**
 * The suites that guest.test.ts leaves out, on the same kernel, and those whose size its count
 * lowers, with the sizes of the acceptance criteria.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { BULK_SUITES, LONG_SUITES } from './long-suites.ts';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the suites that take long, and the bulk ones at full size, with the default adapter', async (t) => {
  report(t, await runGuestCases({ suites: [...new Set([...LONG_SUITES, ...BULK_SUITES])] }));
});
