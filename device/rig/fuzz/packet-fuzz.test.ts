// SPDX-License-Identifier: Apache-2.0
/**
 * A short run of `npm run simulate -- fuzz --packets`: no packet throws an error or disturbs
 * another QP.
 */
import t from 'tap';
import { PacketFuzz } from './packet-fuzz.ts';

const PACKETS = 20_000;

for (const seed of [1, 2, 3]) {
  t.test(`seed ${seed}`, async (t) => {
    const fuzz = new PacketFuzz(seed);
    fuzz.run(PACKETS);
    t.equal(fuzz.packets, PACKETS);
    for (const [outcome, count] of Object.entries(fuzz.outcomes)) t.ok(count > 0, `${outcome}: ${count}`);
  });
}
