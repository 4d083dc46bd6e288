// SPDX-License-Identifier: Apache-2.0
/** Report of a run of two guests. Called by peers.test.ts and switches.long.ts. */
import type { Test } from 'tap';
import { report } from './harness/report.ts';
import type { PeerRun } from './peer-run.ts';

export function reportPeers(t: Test, run: PeerRun): void {
  for (const [side, guest] of run.guests.entries()) {
    t.test(`guest ${side}`, (t) => {
      t.ok(guest.results.length > 0, 'there are results');
      report(t, guest);
      t.end();
    });
  }
  t.comment(`${run.guests[0].seconds.toFixed(1)} s`);
}
