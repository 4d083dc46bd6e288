// SPDX-License-Identifier: Apache-2.0
/**
 * Forged datagrams do not disturb a managed subnet; `npm run simulate -- fuzz --datagrams` sends
 * more of them.
 */
import t from 'tap';
import { ledger } from '../fixtures/ledger.ts';
import { DatagramFuzz } from './datagram-fuzz.ts';

const SEEDS = 3;
const DATAGRAMS = 4000;

t.test('forged datagrams leave the subnet active, and its manager at work', async (t) => {
  ledger(t, '14.2.4', 'Ports with a management key keep addresses, keys and routes whatever others send');
  for (let seed = 1; seed <= SEEDS; seed++) {
    const fuzz = new DatagramFuzz(seed);
    fuzz.run(DATAGRAMS);
    t.equal(fuzz.sent, DATAGRAMS);
    t.ok(
      fuzz.fabric.adapters.some(({ mads }) => mads.agents.lockedOut > 0),
      'some of them were requests without the key',
    );
  }
});
