// SPDX-License-Identifier: Apache-2.0
/**
 * The driver passes its suites on the other kernels of Debian: the oldest that it supports, and the
 * newest of the backports. It compiles there without warnings. guest.test.ts has Debian 13's.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';

/** Datagrams of the bulk tests: fewer than on the default kernel. */
const COUNT = 200;

// A silent guest is ended by its session.
t.setTimeout(0);

for (const kernel of ['bookworm', 'backports'])
  t.test(`every suite on the kernel of ${kernel}`, async (t) => {
    report(t, await runGuestCases({ kernel, count: COUNT }));
  });
