// SPDX-License-Identifier: Apache-2.0
/** The suites that guest.test.ts leaves out, on the same kernel. */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { LONG_SUITES } from './long-suites.ts';

/** Datagrams of the bulk tests. */
const COUNT = 1000;

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the suites that take long, with the default adapter', async (t) => {
  report(t, await runGuestCases({ suites: LONG_SUITES, count: COUNT }));
});
