// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests on two adapters, each with the stock kernel and this project's driver, send each other
 * RC, UC and UD traffic over sockets between two processes, one of which is cut while it carries
 * messages. switches.long.ts has links inside one process.
 */
import t from 'tap';
import { reportPeers } from './peer-report.ts';
import { runPeers } from './peer-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('two adapters in two processes', async (t) => {
  const run = await runPeers('sockets');
  reportPeers(t, run);
  for (const links of [run.good, run.bad]) {
    t.match(
      links.map(({ kind, up }) => ({ kind, up })),
      [
        { kind: 'socket', up: true },
        { kind: 'socket', up: true },
      ],
    );
  }
  t.ok(
    run.good.every(({ sent, received, lost }) => sent > 100 && received > 100 && lost === 0),
    'the good link lost nothing',
  );
  t.equal(run.cuts, 2, 'the bad link was cut');
  t.ok(
    run.bad.some(({ lost }) => lost > 0),
    'and packets were lost meanwhile',
  );
});
