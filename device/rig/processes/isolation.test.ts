// SPDX-License-Identifier: Apache-2.0
/**
 * No act of a hostile user process shows in other processes, kernels or functions (docs/HAZARDS.md,
 * user processes). `npm run simulate -- isolation --processes` performs 10 million acts.
 */
import t from 'tap';
import { ProcessIsolation } from './isolation.ts';

const ACTS_PER_ROUND = 200;
const ROUNDS = 120;

for (const seed of [1, 2])
  t.test(`hazard 43: hostile processes and idle ones leave the others the same, seed ${seed}`, async (t) => {
    const [attacked, alone] = [new ProcessIsolation(seed), new ProcessIsolation(seed)];
    for (let round = 0; round < ROUNDS; round++) {
      attacked.round(ACTS_PER_ROUND);
      alone.round(0);
    }
    t.same(attacked.end(), [], `seed ${seed}`);
    t.same(alone.end(), []);
    t.same(attacked.findDifferences(alone), [], `seed ${seed}`);
    t.ok(attacked.refused > 1000, `the acts were noticed: ${attacked.refused} refused stores`);
    t.ok(attacked.hostile.every(({ deaths }) => deaths > 1));
    t.equal(alone.refused, 0);
    alone.touch();
    t.not(attacked.findDifferences(alone).length, 0, 'one byte would show');
  });
