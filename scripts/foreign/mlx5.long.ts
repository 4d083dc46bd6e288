// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's RDMA software on the current stock driver: the suites that judge most, as part of all
 * tests. `npm run test:foreign` runs all suites.
 */
import t from 'tap';
import { reportSuites } from './report.ts';

/** Of pyverbs; the others are skipped, with their reasons. */
const PASSES = 130;

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('pyverbs, connection manager, two adapters, and a few tests of others', async (t) => {
  const few = ['verbs', 'tools', 'diags', 'ipoib', 'storage'] as const;
  const results = await reportSuites(t, 'mlx5', ['pyverbs', 'cm', 'adapters'], few);
  const passes = results.filter(({ suite, verdict }) => suite === 'pyverbs' && verdict === 'pass').length;
  t.ok(passes >= PASSES, `${passes} tests of pyverbs pass; at least ${PASSES} must`);
});
