// SPDX-License-Identifier: Apache-2.0
/**
 * The in-kernel tests in a real guest: the stock kernel in QEMU, this project's driver, the adapter
 * in a process of its own. guest.long.ts has the suites that take long, guest-variants.long.ts
 * other adapters.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { LONG_SUITES } from './long-suites.ts';

/** Datagrams of the bulk tests; guest.long.ts sends as many as the acceptance criteria say. */
const COUNT = 200;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the suites that are short, with the default adapter', async (t) => {
  const run = await runGuestCases({ count: COUNT, without: LONG_SUITES });
  report(t, run);
  t.comment(`${run.results.length} results in ${run.seconds.toFixed(1)} s`);
});
