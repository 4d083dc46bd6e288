// SPDX-License-Identifier: Apache-2.0
/**
 * The driver passes its suites on the other kernels of Debian: the oldest that it supports, and the
 * newest of the backports. It compiles there without warnings. guest.test.ts and guest.long.ts
 * cover Debian 13's kernel. With VUHCA_LARGE the others also run every suite.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';

/**
 * Suites that use what the driver has from the kernel: PCI, interrupts, timers, memory, clients,
 * debugfs. What the adapter does does not depend on the kernel; guest.test.ts shows that.
 */
const SUITES = [
  ...['identity', 'management', 'datagram', 'collect', 'events', 'interrupt', 'ports', 'connected', 'shared_receive'],
  ...['windows', 'device_memory', 'global', 'timers', 'polling', 'pio', 'mad', 'trace', 'share_files', 'reset'],
  'rebind',
];
/** Datagrams of the bulk tests, as in guest.test.ts. */
const COUNT = 200;

// The session ends a silent guest.
t.setTimeout(0);

const [which, chosen] = process.env.VUHCA_LARGE ? ['every suite', {}] : ['suites', { suites: SUITES }];

for (const kernel of ['bookworm', 'backports'] as const)
  t.test(`${which} on the kernel of ${kernel}`, async (t) => {
    report(t, await runGuestCases({ kernel, count: COUNT, ...chosen }));
  });
