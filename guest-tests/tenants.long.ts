// SPDX-License-Identifier: Apache-2.0
/**
 * Three guests on the functions of one adapter, each tested while the others flood it: no guest
 * costs another a command, a counter or its share. A guest that is killed costs only itself, and
 * its share returns.
 */
import t from 'tap';
import { reportTenants } from './tenant-report.ts';
import { runTenants } from './tenant-run.ts';

// The session ends a silent guest.
t.setTimeout(0);

t.test('the physical function and two virtual ones', async (t) => {
  reportTenants(t, await runTenants({ count: 100 }));
});
