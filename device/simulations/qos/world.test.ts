// SPDX-License-Identifier: Apache-2.0
/** Random load on whole adapters, everything checked after every step. `npm run invariants` goes on where this stops; a seed that failed stays here. */
import t from 'tap';
import { World } from './world.ts';

const STEPS = 1500;

for (const seed of [1, 2, 3, 7, 10, 11, 43])
  t.test(`seed ${seed}`, async (t) => {
    const world = new World(seed);
    world.run(STEPS);
    world.rest();
    const { messages, refusals, granted, halfWritten } = world.summary;
    t.ok(messages > STEPS / 2 && refusals > 10 && granted > 5 && halfWritten > 10, JSON.stringify(world.summary));
  });
