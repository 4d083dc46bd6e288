// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile process on each function of an mlx5 device stores at random into its page of doorbells,
 * its doorbell records, work queues, completion queues and data. Other processes go on undisturbed,
 * and nothing is left in the functions when it is gone. `npm run simulate -- isolation
 * --personality mlx5` performs 10 million acts.
 */
import t from 'tap';
import { seedsOf } from '../fixtures/seeds.ts';
import { Mlx5Isolation } from './isolation.ts';

const ACTS = 3000;
const ACTS_PER_ROUND = 100;

for (const seed of seedsOf(3, 9)) {
  t.test(`seed ${seed}`, (t) => {
    const [attacked, alone] = [new Mlx5Isolation(seed), new Mlx5Isolation(seed)];
    const wrong: string[] = [];
    for (let act = 0; act < ACTS && wrong.length === 0; act += ACTS_PER_ROUND) {
      const errors = [attacked.round(ACTS_PER_ROUND), alone.round(0)];
      for (const error of errors) if (error !== undefined) wrong.push(`seed ${seed}, act ${act}: ${error}`);
    }
    t.same(wrong, [], `seed ${seed}: the victims`);
    const { victims, hostile, strayDoorbells, faults } = attacked;
    t.same(attacked.findDifferences(alone), [], `seed ${seed}: the victims see the same without the hostile process`);
    t.ok(strayDoorbells > ACTS / 20, `${strayDoorbells} stray doorbells`);
    t.ok(faults > 50, `${faults} faults`);
    t.ok(victims.rounds > 2 * victims.exchanges.length, 'each message has come more than once');
    t.ok(victims.events > victims.exchanges.length, `${victims.events} completion events`);
    t.ok(hostile.errors > 50, `${hostile.errors} completions with an error`);
    t.ok(hostile.good > 50, `${hostile.good} good completions`);
    t.ok(hostile.replaced > 10, `${hostile.replaced} QPs are created again`);
    t.same(attacked.end(), [], `seed ${seed}: and afterwards`);
    alone.victims.touch();
    t.not(attacked.findDifferences(alone).length, 0, 'one byte would show');
    t.end();
  });
}
