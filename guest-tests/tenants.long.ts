// SPDX-License-Identifier: Apache-2.0
/**
 * The run of tenants.test.ts in which each first guest, too, is tested while the others flood: also
 * the physical function without a neighbour that dies, and the guest that is killed later. At the
 * end another guest dies, and its share returns.
 */
import t from 'tap';
import { reportTenants } from './tenant-report.ts';
import { runTenants } from './tenant-run.ts';

// A silent guest is ended by its session.
t.setTimeout(0);

t.test('each guest in turn, while the others flood', async (t) => {
  reportTenants(t, await runTenants({ count: 300, everyGuest: true, returns: true }));
});
