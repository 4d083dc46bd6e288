// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests behind two switches, whose ports have their LIDs from the built-in subnet manager; the
 * second guest has a virtual function behind the switch embedded in its adapter (docs/FABRIC.md).
 * All traffic of peers.test.ts crosses the trunk, and both ask subnet administration for a path and
 * join a multicast group by it.
 */
import t from 'tap';
import { hasPassed } from './harness/report.ts';
import { reportPeers } from './peer-report.ts';
import { runPeers } from './peer-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two guests behind two switches', async (t) => {
  const run = await runPeers('switches');
  reportPeers(t, run);
  for (const guest of run.guests) hasPassed(t, guest, ['peer/group', 'mad/administration']);
  t.ok(
    run.bad.some(({ lost }) => lost > 0),
    'the bad links lost packets',
  );
});
