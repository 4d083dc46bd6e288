// SPDX-License-Identifier: Apache-2.0
/**
 * A long test of the built-in subnet manager: 1,000 seeds of links that lose management packets,
 * which have no retransmission of their own. Every subnet becomes ACTIVE with distinct LIDs.
 */
import t from 'tap';
import { Random } from '../../../random.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';

const SEEDS = 1000;
const LIMIT_NS = 120e9;

const plans: readonly ManagedFabricPlan[] = [
  { switches: [4], adapters: 3, links: [0, 1, 2].map((at) => ['s0', `a${at}`]) },
  {
    switches: [4, 4, 4],
    adapters: 3,
    links: [0, 1, 2].flatMap((at) => [
      [`s${at}`, `s${(at + 1) % 3}`],
      [`s${at}`, `a${at}`],
    ]),
  },
  {
    switches: [4, 4],
    adapters: 3,
    links: [
      ['s0', 's1'],
      ['s0', 'a0'],
      ['s1', 'a1'],
      ['s1', 'a2'],
    ],
    managers: [{ at: 'a2' }],
  },
];

const areDistinct = (lids: readonly number[]): boolean => new Set(lids).size === lids.length && !lids.includes(0);

t.test(`lossy links: ${SEEDS} seeds all reach ACTIVE`, async (t) => {
  let reached = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const drop = (1 + random.below(25)) / 100;
    const faults = { delayNs: 1000, faults: { drop } };
    const fabric = new ManagedFabric({ ...plans[random.below(plans.length)], faults, seed });
    const [manager] = fabric.managers;
    const getLids = (): number[] => [...fabric.switches, ...fabric.adapters].map(({ endPorts }) => endPorts[0].lid);
    const isUp = fabric.runUntil(() => fabric.allActive && manager.isMaster && areDistinct(getLids()), LIMIT_NS);
    if (!isUp) t.fail(`seed ${seed}: drop ${drop}, LIDs ${getLids()}, manager is master: ${manager.isMaster}`);
    reached += isUp ? 1 : 0;
  }
  t.equal(reached, SEEDS);
});
