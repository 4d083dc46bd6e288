// SPDX-License-Identifier: Apache-2.0
/**
 * Random load on whole adapters, checked after every step. `npm run simulate -- invariants` runs
 * more seeds and steps; a seed that failed stays here.
 */
import t from 'tap';
import { partOf } from '../fixtures/seeds.ts';
import { AdapterLoad } from './adapter-load.ts';

const STEPS = 1500;
/** With these seeds each doorbell policy has an effect. */
const POLICY_SEEDS = [10, 3];
const SEEDS = partOf([...POLICY_SEEDS, 1, 2, 7, 11, 43], POLICY_SEEDS.length);

/** Number of effects of doorbell policies, over all seeds. */
const uses = { hostQueue: 0, spillBuffered: 0, spillCommands: 0 };

for (const seed of SEEDS)
  t.test(`seed ${seed}`, async (t) => {
    const load = new AdapterLoad(seed);
    load.run(STEPS);
    load.drain();
    const { messages, refusals, granted, halfWritten } = load.summary;
    for (const policy of Object.keys(uses) as (keyof typeof uses)[]) uses[policy] += load.summary[policy];
    t.ok(messages > STEPS / 2 && refusals > 10 && granted > 5 && halfWritten > 10, JSON.stringify(load.summary));
  });

if (POLICY_SEEDS.every((seed) => SEEDS.includes(seed)))
  t.test('each doorbell policy had an effect', async (t) => {
    for (const [policy, count] of Object.entries(uses)) t.ok(count > 0, `${policy}: ${count}`);
  });
