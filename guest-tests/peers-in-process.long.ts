// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests on two adapters, each with the stock kernel and this project's driver, send each other
 * RC, UC and UD traffic over links inside one process, one of which has faults.
 */
import t from 'tap';
import { reportPeers } from './peer-report.ts';
import { runPeers } from './peer-run.ts';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two adapters in one process', async (t) => {
  const run = await runPeers('links');
  reportPeers(t, run);
  t.match(run.good, [{ ends: ['a:1', 'b:1'], kind: 'cable', up: true, lost: 0 }]);
  t.match(run.bad, [{ ends: ['a:2', 'b:2'], kind: 'faulty', up: true }]);
  t.ok(run.bad[0].lost > 0, 'the bad link lost packets');
});
