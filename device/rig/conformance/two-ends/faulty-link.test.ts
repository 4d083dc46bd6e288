// SPDX-License-Identifier: Apache-2.0
/** The cases of two ends on two adapters whose link loses, doubles, damages and delays packets. */
import t from 'tap';
import { seedsOf } from '../../fixtures/seeds.ts';
import { runTwoEndsCase, twoEndsCases } from './suite.ts';
import { onFaultyLink } from './two-adapters.ts';

const SEEDS = seedsOf(3, 12);
const FAULTS = { drop: 0.03, duplicate: 0.03, reorder: 0.03, corrupt: 0.02, delay: 0.03 };

for (const twoEnds of twoEndsCases.filter(({ losslessOnly }) => !losslessOnly)) {
  t.test(`two adapters on a faulty link: ${twoEnds.name}`, async (t) => {
    for (const seed of SEEDS) {
      const [requester, responder] = onFaultyLink({ faults: FAULTS, delayNs: 700 }, seed);
      runTwoEndsCase(twoEnds, requester, responder, seed);
    }
    t.pass(`${SEEDS.length} seeds`);
  });
}
