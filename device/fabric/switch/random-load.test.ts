// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of several switches under seeded random load: no packet vanishes without a counted
 * cause, packets of a flow keep their order, and when all is quiet no buffer holds a packet and no
 * link counts one in flight.
 */
import t, { type Test } from 'tap';
import { Random } from '../../random.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { SwitchFabric, type SwitchFabricPlan } from '../../rig/fixtures/switch-fabric.ts';
import { loadSwitches, type SwitchLoad } from '../../rig/fixtures/switch-load.ts';
import type { FaultyLinkOptions } from '../link/link-options.ts';

const tree: SwitchFabricPlan = {
  trunks: [
    [0, 1],
    [0, 2],
    [0, 3],
    [0, 1],
  ],
  ends: [1, 1, 2, 2, 3, 3],
};
const ring: SwitchFabricPlan = {
  trunks: [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
    [4, 0],
  ],
  ends: [0, 1, 2, 3, 4, 2],
};
const mesh: SwitchFabricPlan = {
  trunks: [
    [0, 1],
    [0, 2],
    [1, 2],
    [1, 3],
    [2, 3],
    [0, 3],
  ],
  ends: [0, 1, 2, 3],
};

const faults: readonly (Partial<FaultyLinkOptions> | undefined)[] = [
  undefined,
  { delayNs: 500, bitsPerSecond: 1e10, bufferPackets: 4, bufferBlocks: 80 },
  { faults: { drop: 0.02, corrupt: 0.02, delay: 0.05, duplicate: 0.02 }, delayNs: 100 },
  { faults: { drop: 0.01 }, flapEveryNs: 2e5, flapLengthNs: 1e4, delayNs: 300, bufferPackets: 2 },
];

const PACKETS = 300;

function check(t: Test, plan: SwitchFabricPlan, seed: number, lifeTime?: number): SwitchLoad {
  const load = loadSwitches(plan, seed, PACKETS, lifeTime);
  t.same(load.errors, [], `seed ${seed}`);
  t.ok(load.arrived > load.sent / 4, `seed ${seed}: ${load.arrived} of ${load.sent} arrived`);
  return load;
}

for (const [shape, plan] of Object.entries({ tree, ring, mesh })) {
  t.test(`packets in = out + dropped by cause: ${shape}`, async (t) => {
    ledger(t, '18.2.4', `A switch loses no packet without a counter, and repeats none: ${shape}`);
    ledger(t, '7.9.4', `Switches lose no credit of their links: ${shape}`);
    for (let seed = 1; seed <= 8; seed++) {
      const virtualLanes = [1, 2, 4][seed % 3];
      const queuePackets = 1 + (seed % 4);
      check(t, { ...plan, faults: faults[seed % faults.length], virtualLanes, queuePackets }, seed);
    }
  });
}

t.test('nothing is dropped on good links, however full', async (t) => {
  for (let seed = 1; seed <= 4; seed++) {
    t.equal(check(t, { ...ring, faults: faults[1], queuePackets: 1 }, seed).dropped, 0, `seed ${seed}`);
  }
});

t.test('packets that live too long are counted', async (t) => {
  let drops = 0;
  for (let seed = 1; seed <= 4; seed++) {
    const slow = { delayNs: 3000, bitsPerSecond: 2e8, bufferPackets: 1, bufferBlocks: 68 };
    drops += check(t, { ...tree, faults: slow, queuePackets: 1 }, seed, 1).dropped;
  }
  t.ok(drops > 0);
});

/** What arrives in which order, and how often a switch was left out. */
function travel(plan: SwitchFabricPlan, seed: number, leavesOut: boolean) {
  const random = new Random(seed);
  const fabric = new SwitchFabric({ ...plan, seed, queuePackets: 1 });
  const { ends, switches } = fabric;
  let leftOut = 0;
  for (const node of switches) {
    const skip = node.skip.bind(node);
    node.skip = () => {
      const isLeftOut = leavesOut && skip();
      if (isLeftOut) leftOut++;
      return isLeftOut;
    };
  }
  const arrivals: unknown[] = [];
  const takeAll = (most: () => number): void => {
    for (const at of ends.keys()) arrivals.push(fabric.take(at, most()));
  };
  for (let id = 1; id <= PACKETS; id++) {
    const from = random.below(ends.length);
    fabric.send(from, 1 + ((from + 1 + random.below(ends.length - 1)) % ends.length), id);
    if (random.oneIn(3)) fabric.settle();
    if (random.oneIn(5)) takeAll(() => random.below(3));
    if (random.oneIn(5)) fabric.clock.advance(random.below(2000));
    if (random.oneIn(60)) {
      // It comes to rest, as it does between two bursts.
      for (let round = 0; round < 12; round++) {
        fabric.settle();
        takeAll(() => PACKETS);
      }
    }
  }
  return { arrivals, counts: fabric.count(), leftOut };
}

t.test('a switch without work is left out, and packets go as if it had run', async (t) => {
  for (const [shape, plan] of Object.entries({ tree, ring, mesh })) {
    let leftOut = 0;
    for (let seed = 1; seed <= 2; seed++) {
      const run = travel(plan, seed, true);
      t.same(run, { ...travel(plan, seed, false), leftOut: run.leftOut }, `${shape}, seed ${seed}`);
      leftOut += run.leftOut;
    }
    t.ok(leftOut > 20, `${shape}: ${leftOut}`);
  }
});
