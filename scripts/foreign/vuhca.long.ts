// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's RDMA software on our own driver and provider: the suites that judge most, as part of
 * all tests.
 * `npm run test:foreign` runs all suites.
 */
import t from 'tap';
import { reportSuites } from './report.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('pyverbs, connection manager, two adapters, and polls where processors take turns', (t) =>
  reportSuites(t, 'vuhca', ['pyverbs', 'cm', 'adapters'], ['turns']),
);
