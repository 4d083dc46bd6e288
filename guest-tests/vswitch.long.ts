// SPDX-License-Identifier: Apache-2.0
/**
 * Guests behind embedded switches (docs/FABRIC.md): virtual functions of two adapters exchange all
 * traffic of peers.test.ts over uplinks and switches, and join a multicast group. Then a guest with
 * a virtual function alone asks subnet administration by its QP1 for a path and a group.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { reportPeers } from './peer-report.ts';
import { runPeers } from './peer-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two guests on virtual functions of two adapters', async (t) => {
  const run = await runPeers('functions');
  reportPeers(t, run);
  for (const { results } of run.guests)
    t.ok(
      results.some(({ path, ok, skipped }) => path.join('/') === 'peer/group' && ok && skipped === undefined),
      'peer/group has run',
    );
});

t.test('QP1 of a virtual function', async (t) => {
  const run = await runGuestCases({
    suites: ['mad'],
    only: 'administration',
    functions: [1],
    deviceArguments: ['--functions', '2', '--port-model', 'vswitch', '--fabric', 'switch'],
  });
  report(t, run);
  t.ok(
    run.results.some(({ path, ok, skipped }) => path.at(-1) === 'administration' && ok && skipped === undefined),
    'it has a path and a group',
  );
});
