// SPDX-License-Identifier: Apache-2.0
/**
 * Three guests on the functions of one adapter, each tested while the others flood it: no guest
 * costs another a command, a counter or its share.
 */
import t from 'tap';
import { reportTenants } from './tenant-report.ts';
import { runTenants } from './tenant-run.ts';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the physical function and two virtual ones', async (t) => {
  reportTenants(t, await runTenants({ count: 100 }));
});
