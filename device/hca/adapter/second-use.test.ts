// SPDX-License-Identifier: Apache-2.0
/**
 * Everything that was used once, and then reset or destroyed, works as if it had never been used:
 * stores, interrupts, packets, registers and times of a second use are those of a fresh function,
 * and so is the state of all units. docs/PROGRAMMING.md, reset.
 */
import { Session } from 'node:inspector';
import t, { type Test } from 'tap';
import { csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import type { ResetKind } from '../../host.ts';
import { destroyObjects } from '../../rig/fixtures/second-use/destroy-objects.ts';
import {
  align,
  findLeftState,
  makePair,
  type SecondUseOptions,
  type SecondUsePair,
} from '../../rig/fixtures/second-use/fixture.ts';
import type { RegisterRules } from '../../rig/fixtures/second-use/session.ts';
import { findStateDifferences } from '../../rig/fixtures/second-use/state-difference.ts';
import { functionCounters, toleratedFields } from '../../rig/fixtures/second-use/tolerated-fields.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';

// The process ends it: a teardown of tap's root would end the tests of other files in the process.
const inspector = new Session();
inspector.connect();

const KINDS: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];
/** Counters that a reset does not change (docs/PROGRAMMING.md, reset). */
const AFTER_RESET: RegisterRules = {
  lasting: new Set([
    ...['DEVICE_STATUS', 'LANE_LAUNCHES', 'TVL_LAUNCHES'],
    ...['PORT_TRANSMIT_PACKETS', 'PORT_RECEIVE_PACKETS', 'PORT_RECEIVE_DROPS'],
  ]),
};
/** Without a reset all counters go on, and lanes take their turns. */
const AFTER_DESTRUCTION: RegisterRules = {
  lasting: new Set(csrRegisters.map(({ name }) => name)),
  ignored: new Set(['TVL_LAUNCHES', 'TVL_EXECUTION', 'TVL_COMPLETION', 'TVL_SHARED', 'TVL_KICK_LIST']),
};

const setups: Readonly<Record<string, SecondUseOptions>> = {
  'a lone function': {},
  'a lone function whose reads take time': { machine: { adapter: { dmaLatencyNs: 500, busReads: 4 } } },
  'a virtual function': { functionNumber: 1, machine: { functionCount: 3 } },
  'a function with ports of its own': {
    functionNumber: 1,
    machine: { functionCount: 2, adapter: { portModel: 'vswitch' } },
  },
};

/** Resets both adapters of a pair, of which one was used. */
function resetPair(pair: SecondUsePair, kind: ResetKind, { functionNumber = 0 }: SecondUseOptions): void {
  const machines = [pair.used, pair.fresh].map(({ machine }) => machine);
  for (const machine of machines) machine.reset(functionNumber, kind);
  align(pair, { functionNumber });
  for (const machine of machines) machine.resume(functionNumber);
}

function checkState(t: Test, { used, fresh, story }: SecondUsePair, tolerated: ReadonlySet<string>): void {
  const [first] = findStateDifferences(used.machine.device, fresh.machine.device, tolerated, inspector);
  t.equal(first && `${first.text} (${first.field}); the first life of ${story}`, undefined);
}

for (const [name, options] of Object.entries(setups))
  t.test(`${name} that was used and reset is as a fresh one`, async (t) => {
    for (const seed of seedsOf(1, 5)) {
      const pair = makePair(seed, options, { disturb: true });
      resetPair(pair, KINDS[seed % KINDS.length], options);
      checkState(t, pair, toleratedFields);
      t.equal(findLeftState(pair, options, AFTER_RESET), undefined);
    }
  });

t.test('a function whose objects were used and destroyed is as a fresh one', async (t) => {
  const options = setups['a lone function whose reads take time'];
  for (const seed of seedsOf(1, 5)) {
    const pair = makePair(seed, options, { onlyObjects: true });
    for (const fixture of [pair.used, pair.fresh]) destroyObjects(fixture);
    align(pair, options);
    checkState(t, pair, new Set([...toleratedFields, ...functionCounters]));
    t.equal(findLeftState(pair, options, AFTER_DESTRUCTION), undefined);
  }
});
