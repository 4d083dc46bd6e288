// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of several switches under seeded random load: no packet vanishes without a counted
 * cause, packets of a flow keep their order, and when all is quiet no buffer holds a packet and no
 * link counts one in flight.
 */
import t, { type Test } from 'tap';
import type { FaultyLinkOptions } from '../fabric/link-options.ts';
import { Random } from '../random.ts';
import { SwitchFabric, type SwitchFabricPlan } from '../test-support/switch-fabric.ts';

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

/** Sends packets at random and lets time pass until all is quiet. */
function load(t: Test, plan: SwitchFabricPlan, seed: number, lifeTime: number): SwitchFabric {
  const fabric = new SwitchFabric({ ...plan, seed });
  for (const { switchTables } of fabric.switches) switchTables.lifeTime = lifeTime;
  const random = new Random(seed);
  const count = fabric.ends.length;
  const name = `seed ${seed}`;
  /** By flow (from, to, service level): the id of the last packet to arrive. */
  const last = new Map<string, number>();
  let arrived = 0;
  const takeAll = (slow: boolean): void => {
    for (let at = 0; at < count; at++) {
      for (const { id, slid, dlid, virtualLane } of fabric.take(at, slow ? random.below(3) : 100)) {
        arrived++;
        if (dlid !== at + 1) t.fail(`${name}: packet ${id} for LID ${dlid} is at LID ${at + 1}`);
        const flow = `${slid} ${dlid} ${virtualLane}`;
        const isRepeated = id === last.get(flow);
        if (isRepeated && plan.faults?.faults?.duplicate === undefined) t.fail(`${name}: packet ${id} came twice`);
        if (id < (last.get(flow) ?? 0)) t.fail(`${name}: packet ${id} of flow ${flow} is late`);
        last.set(flow, id);
      }
    }
  };
  let sent = 0;
  for (let id = 1; id <= PACKETS; id++) {
    const from = random.below(count);
    const to = (from + 1 + random.below(count - 1)) % count;
    if (fabric.ends[from].active && fabric.send(from, to + 1, id, random.below(300), random.below(4))) sent++;
    if (random.oneIn(4)) fabric.settle();
    if (random.oneIn(8)) takeAll(true);
    if (random.oneIn(4)) fabric.clock.advance(random.below(2000));
  }
  // Links flap for ever, so time is bounded.
  for (let round = 0; round < 3000 && fabric.countLinks().waiting > 0; round++) {
    fabric.settle();
    takeAll(false);
    fabric.clock.advance(1000);
  }
  const links = fabric.countLinks();
  const { received, relayed, drops, lost } = fabric.count();
  t.equal(links.waiting, 0, `${name}: nothing waits`);
  const endLosses = fabric.ends.reduce((sum, end) => sum + end.transmitDiscards, 0);
  const accounted = arrived + fabric.damaged + drops + lost + links.lost + endLosses - links.duplicated;
  t.equal(accounted, sent, `${name}: sent = arrived + lost by cause`);
  t.ok(arrived > sent / 4, `${name}: ${arrived} of ${sent} arrived`);
  t.ok(received >= relayed, `${name}: a switch makes no packet`);
  for (const link of fabric.links) {
    if (!('directions' in link)) continue;
    for (const { flightBlocks, flightPackets, buffer } of link.directions) {
      const used = [...flightBlocks, ...flightPackets, ...buffer.rings.map(({ blocks }) => blocks)];
      if (used.some((one) => one !== 0)) t.fail(`${name}: a credit is lost`);
    }
  }
  return fabric;
}

for (const [shape, plan] of Object.entries({ tree, ring, mesh })) {
  t.test(`packets in = out + dropped by cause: ${shape}`, async (t) => {
    for (let seed = 1; seed <= 8; seed++) {
      const virtualLanes = [1, 2, 4][seed % 3];
      const queuePackets = 1 + (seed % 4);
      load(t, { ...plan, faults: faults[seed % faults.length], virtualLanes, queuePackets }, seed, 31);
    }
  });
}

t.test('nothing is dropped on good links, however full', async (t) => {
  for (let seed = 1; seed <= 4; seed++) {
    const fabric = load(t, { ...ring, faults: faults[1], queuePackets: 1 }, seed, 31);
    t.equal(fabric.count().drops, 0, `seed ${seed}`);
  }
});

t.test('packets that live too long are counted', async (t) => {
  let drops = 0;
  for (let seed = 1; seed <= 4; seed++) {
    const slow = { delayNs: 3000, bitsPerSecond: 2e8, bufferPackets: 1, bufferBlocks: 68 };
    drops += load(t, { ...tree, faults: slow, queuePackets: 1 }, seed, 1).count().drops;
  }
  t.ok(drops > 0);
});
