// SPDX-License-Identifier: Apache-2.0
/**
 * The driver passes its suites on the other kernels of Debian: the oldest that it supports, and the
 * newest of the backports. It compiles there without warnings. guest.test.ts has Debian 13's. With
 * VUHCA_LARGE the newest one runs the suites that take long, too.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { LONG_SUITES } from './long-suites.ts';

/** Datagrams of the bulk tests, as in guest.test.ts. */
const COUNT = 200;

// A silent guest is ended by its session.
t.setTimeout(0);

for (const [kernel, which, without] of [
  ['bookworm', 'every suite', []],
  ['backports', 'the suites that are short', process.env.VUHCA_LARGE ? [] : LONG_SUITES],
] as const)
  t.test(`${which} on the kernel of ${kernel}`, async (t) => {
    report(t, await runGuestCases({ kernel, count: COUNT, without }));
  });
