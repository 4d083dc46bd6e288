// SPDX-License-Identifier: Apache-2.0
/**
 * The driver passes its suites on the other kernels of Debian: the oldest that it supports, and the
 * newest of the backports. It compiles there without warnings. guest.test.ts and guest.long.ts
 * cover Debian 13's kernel. With VUHCA_LARGE the others also run the suites that take long.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { LONG_SUITES } from './long-suites.ts';

/** Datagrams of the bulk tests, as in guest.test.ts. */
const COUNT = 200;

// The session ends a silent guest.
t.setTimeout(0);

const [which, without] = process.env.VUHCA_LARGE ? ['every suite', []] : ['the suites that are short', LONG_SUITES];

for (const kernel of ['bookworm', 'backports'] as const)
  t.test(`${which} on the kernel of ${kernel}`, async (t) => {
    report(t, await runGuestCases({ kernel, count: COUNT, without }));
  });
