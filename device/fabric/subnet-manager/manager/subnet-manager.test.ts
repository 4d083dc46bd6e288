// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of the built-in subnet manager over real switches and virtual adapters: from links that are
 * just up to ACTIVE ports, changes of the subnet, clashes of LIDs and GUIDs, lossy links.
 */
import t from 'tap';
import { getPortInfoCapabilityMask } from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { PortCapability } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';

type Links = [string, string][];

/** Two switches, three adapters. */
const small: ManagedFabricPlan = {
  switches: [4, 4],
  adapters: 3,
  links: [
    ['s0', 's1'],
    ['s0', 'a0'],
    ['s1', 'a1'],
    ['s1', 'a2'],
  ],
};

function ringPlan(count: number): ManagedFabricPlan {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const links: Links = numbers.flatMap((at) => [
    [`s${at}`, `s${(at + 1) % count}`],
    [`s${at}`, `a${at}`],
  ]);
  return { switches: numbers.map(() => 4), adapters: count, links };
}

function fatTreePlan(leaves: number, spines: number, adaptersPerLeaf: number): ManagedFabricPlan {
  const links: Links = [];
  for (let leaf = 0; leaf < leaves; leaf++) {
    for (let spine = 0; spine < spines; spine++) links.push([`s${leaf}`, `s${leaves + spine}`]);
    for (let index = 0; index < adaptersPerLeaf; index++)
      links.push([`s${leaf}`, `a${leaf * adaptersPerLeaf + index}`]);
  }
  const leafPorts = new Array<number>(leaves).fill(spines + adaptersPerLeaf);
  const spinePorts = new Array<number>(spines).fill(Math.max(2, leaves));
  return { switches: [...leafPorts, ...spinePorts], adapters: leaves * adaptersPerLeaf, links };
}

function settled(fabric: ManagedFabric): boolean {
  return fabric.managers.some((manager) => manager.isMaster) && fabric.managers.every((each) => each.isSettled);
}

/** LIDs of all nodes, adapters last. */
function lidsOf({ switches, adapters }: ManagedFabric): number[] {
  return [...switches, ...adapters].map(({ endPorts }) => endPorts[0].lid);
}

function hasDistinctLids(fabric: ManagedFabric): boolean {
  const lids = lidsOf(fabric);
  return lids.every((lid) => lid > 0) && new Set(lids).size === lids.length;
}

const plans: Readonly<Record<string, ManagedFabricPlan>> = {
  'one switch': { switches: [4], adapters: 3, links: [0, 1, 2].map((at) => ['s0', `a${at}`]) },
  'two adapters without a switch': { switches: [], adapters: 2, links: [['a0', 'a1']], managers: [{ at: 'a0' }] },
  'two switches': small,
  'a ring of five': ringPlan(5),
  'a fat tree': fatTreePlan(4, 2, 4),
  'a manager on an adapter': { ...small, managers: [{ at: 'a1' }] },
};

for (const [name, plan] of Object.entries(plans)) {
  t.test(`${name}: all ports become ACTIVE and have LIDs`, async (t) => {
    ledger(t, '14.4.3', 'The master brings all ports whose links are up to ACTIVE and gives each end port a LID.');
    const fabric = new ManagedFabric(plan);
    t.ok(fabric.runUntil(() => settled(fabric)));
    t.ok(fabric.allActive, 'all ACTIVE');
    t.ok(hasDistinctLids(fabric), 'LIDs differ');
    const [manager] = fabric.managers;
    const { refusals, silent } = manager.sweeper.counters;
    t.same({ refusals, silent, retries: manager.client.retries }, { refusals: 0, silent: 0, retries: 0 });
    for (const { port } of fabric.adapters) {
      t.equal(port.smLid, manager.sweeper.subnet.ownPort?.lid, 'the port knows the manager');
      t.equal(port.pkeys[0], 0xffff);
    }
  });
}

t.test('a second sweep writes nothing', async (t) => {
  ledger(t, '14.4.4', 'A sweep of an unchanged subnet writes nothing but the flags of changed ports.');
  const fabric = new ManagedFabric(fatTreePlan(4, 2, 4));
  const [manager] = fabric.managers;
  fabric.runUntil(() => settled(fabric));
  const { heavySweeps } = manager.sweeper;
  const { writes } = manager.sweeper.counters;
  manager.sweeper.sweepNow();
  t.ok(fabric.runUntil(() => manager.sweeper.heavySweeps > heavySweeps && settled(fabric)));
  t.equal(manager.sweeper.counters.writes, writes);
});

t.test('at most four requests are outstanding', async (t) => {
  const fabric = new ManagedFabric(fatTreePlan(4, 2, 4));
  fabric.runUntil(() => settled(fabric));
  t.equal(fabric.managers[0].client.mostOutstanding, 4);
});

t.test('more are after many answers in a row, until one does not come', async (t) => {
  const fabric = new ManagedFabric(fatTreePlan(4, 2, 4));
  const [manager] = fabric.managers;
  const { client, sweeper } = manager;
  fabric.runUntil(() => settled(fabric));
  const sweep = (): void => {
    const { heavySweeps } = sweeper;
    sweeper.sweepNow();
    t.ok(fabric.runUntil(() => sweeper.heavySweeps > heavySweeps && settled(fabric)));
  };
  while (client.requests < 5000) sweep();
  t.equal(client.retries, 0);
  t.equal(client.mostOutstanding, 12);
  // A lost answer: the adapter does not run for a while.
  const [adapter] = fabric.adapters;
  const { run } = adapter;
  adapter.run = () => false;
  sweeper.sweepNow();
  t.ok(fabric.runUntil(() => client.retries > 0));
  adapter.run = run;
  client.mostOutstanding = 0;
  t.ok(fabric.runUntil(() => settled(fabric)));
  sweep();
  t.equal(client.mostOutstanding, 4);
});

t.test('a link that comes up later is found by trap 128, one that goes away too', async (t) => {
  ledger(t, '14.4.4', 'A change of the state of a switch port leads to a new sweep at once.');
  const fabric = new ManagedFabric({ ...small, adapters: 4 });
  fabric.runUntil(() => settled(fabric));
  const start = fabric.clock.now();
  const before = lidsOf(fabric).slice(0, 5);
  const link = fabric.join('s0', 'a3');
  t.ok(
    fabric.runUntil(() => fabric.adapters[3].port.active, 2e9),
    'ACTIVE soon',
  );
  t.ok(fabric.clock.now() - start < 2e9, 'before the next light sweep');
  t.same(lidsOf(fabric).slice(0, 5), before, 'the other LIDs stay');
  const lid = fabric.adapters[3].port.lid;
  fabric.runUntil(() => settled(fabric));
  fabric.unplug(link);
  const [{ sweeper }] = fabric.managers;
  t.ok(
    fabric.runUntil(() => sweeper.subnet.nodes.size === 5, 12e9),
    'the adapter is gone',
  );
  fabric.join('s1', 'a3');
  t.ok(fabric.runUntil(() => fabric.adapters[3].port.active, 2e9));
  t.equal(fabric.adapters[3].port.lid, lid, 'it gets its LID again, at another switch');
});

t.test('a link that comes up in the middle of a sweep is found at its end', async (t) => {
  const plan: ManagedFabricPlan = { switches: [4], adapters: 2, links: [['s0', 'a0']] };
  const whole = new ManagedFabric(plan);
  whole.runUntil(() => settled(whole));
  for (let sent = 0; sent <= whole.managers[0].sent; sent++) {
    const fabric = new ManagedFabric(plan);
    const [manager] = fabric.managers;
    let isJoined = false;
    fabric.switches[0].software = (budget) => {
      if (manager.sent >= sent && !isJoined) {
        isJoined = true;
        fabric.join('s0', 'a1');
      }
      return manager.run(budget);
    };
    t.ok(
      fabric.runUntil(() => isJoined && fabric.allActive, 5e9),
      `after ${sent} datagrams, before a light sweep`,
    );
  }
});

t.test('trap 144: a port whose capabilities have changed is read, and nothing else', async (t) => {
  const fabric = new ManagedFabric(small);
  fabric.runUntil(() => settled(fabric));
  const [manager] = fabric.managers;
  const { sweeper } = manager;
  const [{ heavySweeps }, before] = [sweeper, manager.sent];
  const { port, mads } = fabric.adapters[1];
  const change = (capability: number): void => {
    port.subnet.capabilityMask ^= capability;
    mads.traps.raiseLocalChange(1);
  };
  change(PortCapability.COMMUNICATION);
  const known = () => getPortInfoCapabilityMask(sweeper.subnet.portOfLid(port.lid)?.view as DataView, 0);
  t.ok(fabric.runUntil(() => known() === port.subnet.capabilityMask, 1e9));
  t.equal(sweeper.heavySweeps, heavySweeps);
  t.equal(manager.sent - before, 2, 'a TrapRepress and a Get');
  change(PortCapability.IS_SM);
  t.ok(
    fabric.runUntil(() => sweeper.heavySweeps > heavySweeps, 2e9),
    'another manager is looked for',
  );
});

t.test('without traps, light sweeps find the change', async (t) => {
  const fabric = new ManagedFabric({ ...small, adapters: 4 });
  fabric.runUntil(() => settled(fabric));
  const [{ sweeper }] = fabric.managers;
  // The switch has lost the LID of its manager, so its traps go nowhere.
  fabric.switches[1].endPorts[0].smLid = 0;
  fabric.join('s1', 'a3');
  t.ok(fabric.runUntil(() => fabric.adapters[3].port.active, 11e9));
  t.ok(sweeper.lightSweeps > 0);
});

t.test('LIDs that were found are kept; of two that clash, one changes', async (t) => {
  ledger(t, '14.4.3', 'A port keeps its LID unless another port has the same one.');
  const fabric = new ManagedFabric(small);
  const [first, second, third] = fabric.adapters;
  first.port.lid = 40;
  second.port.lid = 40;
  third.port.lid = 77;
  t.ok(fabric.runUntil(() => settled(fabric)));
  t.same([first.port.lid, third.port.lid], [40, 77]);
  t.not(second.port.lid, 40);
  t.ok(hasDistinctLids(fabric) && fabric.allActive);
  t.equal(fabric.managers[0].sweeper.lids.clashes, 1);
});

t.test('two adapters with one GUID: one is left out, and others are not disturbed', async (t) => {
  const fabric = new ManagedFabric({ ...small, sameGuids: [[1, 2]] });
  const [manager] = fabric.managers;
  fabric.runUntil(() => settled(fabric));
  t.equal(manager.sweeper.subnet.duplicates.length, 1);
  t.equal(fabric.adapters[0].port.state, PortState.ACTIVE);
  t.equal(fabric.adapters.slice(1).filter(({ port }) => port.active).length, 1);
});

t.test('a cable from a switch to itself does no harm', async (t) => {
  const fabric = new ManagedFabric({ ...small, links: [...small.links, ['s0', 's0']] });
  t.ok(fabric.runUntil(() => settled(fabric)));
  t.ok(fabric.adapters.every(({ port }) => port.active));
});

t.test('a new manager keeps what it finds', async (t) => {
  const fabric = new ManagedFabric(small);
  fabric.runUntil(() => settled(fabric));
  const lids = lidsOf(fabric);
  fabric.managers[0].stop();
  const next = fabric.addManager('s1');
  t.ok(fabric.runUntil(() => next.isMaster && next.isSettled));
  t.same(lidsOf(fabric), lids);
  t.ok(fabric.allActive);
});

/** lossy-links.long.ts has a thousand. */
const SEEDS = 12;

t.test(`lossy links: ${SEEDS} seeds all reach ACTIVE`, async (t) => {
  ledger(t, '13.4.6', 'Requests without response are repeated; VL15 packets may be lost.');
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const drop = (2 + random.below(20)) / 100;
    const plan = [small, ringPlan(3), fatTreePlan(2, 2, 2)][random.below(3)];
    const fabric = new ManagedFabric({ ...plan, faults: { delayNs: 1000, faults: { drop } }, seed });
    const isDone = () => fabric.allActive && settled(fabric);
    if (!fabric.runUntil(isDone, 120e9) || !hasDistinctLids(fabric)) {
      t.fail(`seed ${seed}: drop ${drop}, states ${fabric.linkedPorts.map(({ state }) => state)}`);
      return;
    }
  }
  t.pass(`${SEEDS} seeds`);
});

t.test('64 adapters at 12 switches', async (t) => {
  const fabric = new ManagedFabric(fatTreePlan(8, 4, 8));
  const start = process.cpuUsage();
  t.ok(fabric.runUntil(() => settled(fabric)));
  const { user, system } = process.cpuUsage(start);
  t.ok(fabric.allActive);
  t.comment(`${fabric.managers[0].client.requests} requests, ${(user + system) / 1000} ms of processor time`);
});
