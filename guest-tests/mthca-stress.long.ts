// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's ib_mthca under stress: 100 times removed and loaded, 100 programs killed in the middle
 * of traffic, 50 link flaps and four fatal errors under IPoIB, with nothing left in device or
 * kernel afterwards and no complaint of the kernel. `MTHCA_STRESS` has fewer rounds of each:
 * 3,4,5,1.
 */
import t from 'tap';
import { runStress } from './stress-run.ts';

const CAUSES = ['internal', 'bus', 'memory', 'parity'];
const [reloads = 100, kills = 100, flaps = 50, failures = CAUSES.length] = (process.env.MTHCA_STRESS ?? '')
  .split(',')
  .filter(Boolean)
  .map(Number);

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver under stress', async (t) => {
  await runStress(t, {
    script: 'stock-driver-stress.sh',
    settings: { RELOADS: reloads, KILLS: kills, FLAPS: flaps, CAUSES: CAUSES.slice(0, failures).join(' ') },
    device: ['--personality=mthca', '--fabric=switch'],
    cleared: true,
  });
});
