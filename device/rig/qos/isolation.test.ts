// SPDX-License-Identifier: Apache-2.0
/**
 * No act of hostile software of one function shows in another function (docs/DOCUMENTS.md decision
 * 14). `npm run simulate -- isolation` performs 10 million acts.
 */
import t from 'tap';
import { Isolation } from './isolation.ts';

const ACTS_PER_ROUND = 200;

for (const [seed, portModel] of [
  [1, 'shared'],
  [2, 'shared'],
  [3, 'vswitch'],
  [4, 'vswitch'],
] as const) {
  t.test(
    `hostile software of one function and none leave the others the same, ${portModel}, seed ${seed}`,
    async (t) => {
      const [attacked, alone] = [new Isolation(seed, portModel), new Isolation(seed, portModel)];
      for (let round = 0; round < 200; round++) {
        attacked.round(ACTS_PER_ROUND);
        alone.round(0);
      }
      t.same(attacked.findDifferences(alone), [], `seed ${seed}`);
      t.ok(attacked.attacker.faults > 1000, `the acts were noticed: ${attacked.attacker.faults} faults`);
      alone.touch();
      t.not(attacked.findDifferences(alone).length, 0, 'one byte would show');
    },
  );
}
