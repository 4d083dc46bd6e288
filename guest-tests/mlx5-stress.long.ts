// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's mlx5 drivers under stress, on a device of two functions behind a switch: removed and
 * loaded, programs killed in the middle of traffic, link flaps and fatal errors under IPoIB, one
 * function that ends while the other has traffic, and a process that writes at random into its
 * queues and its page of the device, with nothing left in device or kernel afterwards and no
 * complaint of the kernel. `MLX5_STRESS` sets the rounds of each part; the acceptance criteria say
 * 100,100,50,4,20. `SEED` is the seed of the hostile process.
 */
import t from 'tap';
import { readRounds, runStress } from './stress-run.ts';

const CAUSES = ['internal', 'processor', 'hardware', 'temperature'];
/** Results of the start and four parts, and the check after each. */
const CHECKS = 9;
/**
 * One function is removed, comes again and fails under IPoIB while the other has traffic, in any
 * case; stock-drivers.long.ts removes the driver as well.
 */
const [reloads = 0, kills = 2, flaps = 2, failures = 0, hostile = 1] = readRounds('MLX5_STRESS');
const SEED = Number(process.env.SEED ?? 1);
const TOPOLOGY = {
  adapters: { card: { sockets: ['0.sock', '1.sock'], personality: 'mlx5' } },
  switches: { s: { ports: 2 } },
  links: [{ ports: ['card:1', 's'] }, { ports: ['card/1:1', 's'] }],
};

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver under stress', async (t) => {
  await runStress(t, {
    script: 'stock-driver-stress.sh',
    programs: ['hostile'],
    settings: {
      DRIVER: 'mlx5',
      RELOADS: reloads,
      KILLS: kills,
      FLAPS: flaps,
      CAUSES: CAUSES.slice(0, failures).join(' '),
      HOSTILE: hostile,
      SEED,
    },
    device: { topology: TOPOLOGY },
    checks: CHECKS + 2 * [reloads, failures].filter((rounds) => rounds > 0).length,
  });
});
