// SPDX-License-Identifier: Apache-2.0
/** The table of tiers has each file once, in its tier. */
import t from 'tap';
import { fillTiers } from './tier-table.ts';

const MARKS = 'a\n<!-- tiers: begin, written by npm run generate -->\nold\n<!-- tiers: end -->\nb\n';

t.test('each file stands in the row of its folder and the column of its tier', async (t) => {
  const files = { quick: ['device/hca/lane/deep/x.test.ts', 'qemu/a.test.ts'], long: ['device/hca/lane/y.long.ts'] };
  const text = fillTiers(MARKS, (tier) => files[tier]);
  t.match(text, '| `device/hca/lane` | deep/x | y |\n| `qemu` | a |  |\n');
  t.match(text, /^a\n.*<!-- tiers: end -->\nb\n$/s);
  t.notMatch(text, '\nold\n');
  t.throws(() => fillTiers('no marks'), /lacks the marks/);
});
