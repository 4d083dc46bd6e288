// SPDX-License-Identifier: Apache-2.0
/**
 * The cases of two ends in process: on two ports of an adapter, on two functions, on two adapters
 * with a cable, on two adapters with a faulty link.
 */
import t from 'tap';
import { Cable } from '../../fabric/cable.ts';
import { InProcessAccess } from '../../hosts/in-process/access.ts';
import { InProcessMachine } from '../../hosts/in-process/machine.ts';
import type { Place } from './ends.ts';
import { runTwoEndsCase, twoEndsCases } from './suite.ts';
import { onFaultyLink, placeOf, twoAdapters } from './two-adapters.ts';

const SEEDS = 12;
const FAULTS = { drop: 0.03, duplicate: 0.03, reorder: 0.03, corrupt: 0.02, delay: 0.03 };

// One machine for all cases of a kind: no case may leave state to the next.
const machine = new InProcessMachine();
const access = new InProcessAccess(machine);
const functions = new InProcessMachine({ functionCount: 2 });
const pairs: readonly (readonly [string, readonly [Place, Place]])[] = [
  ['one adapter', [{ access, port: 1 }, { access, port: 2 }]], // biome-ignore format: a table
  ['two functions of one adapter', [placeOf(functions, 0, 1), placeOf(functions, 1, 2)]],
  ['two adapters', twoAdapters((first, second) => new Cable(first, second))],
];
for (const [name, [requester, responder]] of pairs) {
  for (const twoEnds of twoEndsCases) {
    t.test(`${name}: ${twoEnds.name}`, async (t) => {
      runTwoEndsCase(twoEnds, requester, responder);
      runTwoEndsCase(twoEnds, responder, requester, 2);
      t.pass('both ways');
    });
  }
}

for (const twoEnds of twoEndsCases.filter(({ losslessOnly }) => !losslessOnly)) {
  t.test(`two adapters on a faulty link: ${twoEnds.name}`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const [requester, responder] = onFaultyLink({ faults: FAULTS, delayNs: 700 }, seed);
      runTwoEndsCase(twoEnds, requester, responder, seed);
    }
    t.pass(`${SEEDS} seeds`);
  });
}
