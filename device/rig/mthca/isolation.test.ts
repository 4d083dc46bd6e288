// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile process on an mthca device: it owns a user access region, queue pairs and memory, and
 * stores at random into its page of doorbells, its doorbell records, work queues and data, while
 * hostile commands name objects that they must not name. Other processes go on undisturbed, and the
 * device works as before when the process is gone. `npm run simulate -- isolation --personality
 * mthca` performs 10 million acts.
 */
import t from 'tap';
import { MthcaIsolation } from './isolation.ts';
import { VICTIM_UAR } from './victims.ts';

const ACTS = 4000;
const ACTS_PER_ROUND = 200;

for (const seed of [1, 2, 3, 4]) {
  t.test(`seed ${seed}`, (t) => {
    const [attacked, alone] = [new MthcaIsolation(seed), new MthcaIsolation(seed)];
    const wrong: string[] = [];
    for (let act = 0; act < ACTS; act += ACTS_PER_ROUND) {
      const error = attacked.round(ACTS_PER_ROUND);
      if (error !== undefined) wrong.push(`act ${act}: ${error}`);
      t.equal(alone.round(0), undefined);
    }
    t.same(wrong, [], 'the victims, and the statuses of commands');
    t.same(attacked.findDifferences(alone), [], 'the victims see the same without the hostile process');
    const { fixture, victims, hostile, commands } = attacked;
    const { userAccess } = fixture.driver.device.functions[0];
    t.ok(userAccess.strayDoorbells > ACTS / 20, `${userAccess.strayDoorbells} stray doorbells`);
    t.ok(userAccess.otherStores > 0, `${userAccess.otherStores} stores that are no doorbell`);
    t.ok(victims.rounds > 10);
    t.ok(hostile.errors > 50, `${hostile.errors} of ${hostile.completions} completions are errors`);
    t.ok(hostile.completions > hostile.errors, 'and some are not');
    t.ok(commands.refused > 50, `${commands.refused} commands are refused`);
    t.ok(commands.executed > 20, `${commands.executed} commands are executed`);
    t.same(attacked.end(), [], 'and afterwards');
    t.equal(victims.ends[0].qp.uar, VICTIM_UAR);
    alone.victims.touch();
    t.not(attacked.findDifferences(alone).length, 0, 'one byte would show');
    t.end();
  });
}
