// SPDX-License-Identifier: Apache-2.0
/**
 * The cases of two ends in process: on two ports of an adapter, on two functions, on two adapters
 * with a cable. faulty-link.test.ts has two adapters on a faulty link.
 */
import t from 'tap';
import { Cable } from '../../../fabric/link/cable.ts';
import { InProcessAccess } from '../../machine/access.ts';
import { InProcessMachine } from '../../machine/machine.ts';
import type { EndPlace } from './ends.ts';
import { runTwoEndsCase, twoEndsCases } from './suite.ts';
import { endPlaceOf, twoAdapters } from './two-adapters.ts';

// One machine for all cases of a kind: no case may leave state to the next.
const machine = new InProcessMachine();
const access = new InProcessAccess(machine);
const functions = new InProcessMachine({ functionCount: 2 });
const lenders = twoAdapters((first, second) => new Cable(first, second));
for (const { access } of lenders) access.host.lends = true;
const pairs: readonly (readonly [string, readonly [EndPlace, EndPlace]])[] = [
  ['one adapter', [{ access, port: 1 }, { access, port: 2 }]], // biome-ignore format: a table
  ['two functions of one adapter', [endPlaceOf(functions, 0, 1), endPlaceOf(functions, 1, 2)]],
  ['two adapters', twoAdapters((first, second) => new Cable(first, second))],
  ['two adapters that lend their payload', lenders],
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

t.test('payload was placed from where it was lent', async (t) => {
  for (const { access } of lenders) t.ok(access.host.loans > 0, `${access.host.loans} packets`);
});
