// SPDX-License-Identifier: Apache-2.0
/**
 * A long run of random load through three switches over links with faults: no packet is lost
 * without a counted cause. `npm run simulate -- switches` runs any number of packets.
 */
import t from 'tap';
import { faultyLine, loadSwitches } from '../../device/rig/fixtures/switch-load.ts';

const PACKETS = 200_000;

t.test('packets through three switches with faults: none is lost without a cause', async (t) => {
  for (const seed of [1, 2]) {
    const { errors, arrived, sent } = loadSwitches(faultyLine, seed, PACKETS);
    t.same(errors, [], `seed ${seed}`);
    t.ok(arrived > sent / 2, `seed ${seed}: ${arrived} of ${sent} arrived`);
  }
});
