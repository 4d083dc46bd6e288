// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's ib_mthca under stress: removed and loaded, programs killed in the middle of traffic,
 * link flaps and fatal errors under IPoIB, with nothing left in device or kernel afterwards and no
 * complaint of the kernel. `MTHCA_STRESS` sets the rounds of each part: 100,100,50,4 take 20
 * minutes.
 */
import t from 'tap';
import { readRounds, runStress } from './stress-run.ts';

const CAUSES = ['internal', 'bus', 'memory', 'parity'];
const [reloads = 1, kills = 4, flaps = 2, failures = 1] = readRounds('MTHCA_STRESS');

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver under stress', async (t) => {
  await runStress(t, {
    script: 'stock-driver-stress.sh',
    settings: {
      DRIVER: 'mthca',
      RELOADS: reloads,
      KILLS: kills,
      FLAPS: flaps,
      CAUSES: CAUSES.slice(0, failures).join(' '),
      HOSTILE: 0,
    },
    device: { arguments: ['--personality=mthca', '--fabric=switch'] },
    cleared: true,
  });
});
