// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's RDMA software on the older stock driver, as part of all tests. mlx5.long.ts runs more of
 * pyverbs. `npm run test:foreign` runs all suites.
 */
import t from 'tap';
import { reportSuites } from './report.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two adapters, and a few tests of others', (t) =>
  reportSuites(t, 'mthca', ['adapters'], ['cm', 'pyverbs', 'verbs', 'diags', 'ipoib']),
);
