// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests behind two switches, whose ports have their LIDs from the built-in subnet manager: all
 * traffic of peers.test.ts crosses the trunk, and both join a multicast group by subnet
 * administration. Then one guest alone in a subnet sends datagrams of management from port to port,
 * and asks subnet administration for a path and groups.
 */
import t, { type Test } from 'tap';
import type { GuestRun } from './harness/guest-run.ts';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { reportPeers } from './peer-report.ts';
import { runPeers } from './peer-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two guests behind two switches', async (t) => {
  const run = await runPeers('switches');
  reportPeers(t, run);
  for (const { results } of run.guests) hasPassed(t, results, 'peer/group');
  t.ok(
    run.bad.some(({ lost }) => lost > 0),
    'the bad links lost packets',
  );
});

t.test('datagrams of management, a path and groups for a guest', async (t) => {
  const run = await runGuestCases({
    suites: ['mad'],
    deviceArguments: ['--fabric', 'switch'],
  });
  report(t, run);
  for (const name of ['subnet', 'multicast', 'administration']) hasPassed(t, run.results, `mad/${name}`);
});

/** The case has run, and was not skipped. */
function hasPassed(t: Test, results: GuestRun['results'], name: string): void {
  t.ok(
    results.some(({ path, ok, skipped }) => path.join('/') === name && ok && skipped === undefined),
    `${name} has run`,
  );
}
