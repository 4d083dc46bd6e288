// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of several subnet managers in one subnet: election, handover, takeover after a death, also
 * in the middle of a sweep, and two subnets that become one.
 */
import t from 'tap';
import { MadStatus, SmState } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';
import { PortChange } from '../../port/end-port.ts';
import { decideHandover, isBetter, type Peer, SmControl } from '../election/handover.ts';
import { SmStateMachine } from '../election/state-machine.ts';
import type { SubnetManager } from './subnet-manager.ts';

/** Three switches in a row with an adapter each. */
const row: ManagedFabricPlan = {
  switches: [4, 4, 4],
  adapters: 3,
  links: [
    ['s0', 's1'],
    ['s1', 's2'],
    ['s0', 'a0'],
    ['s1', 'a1'],
    ['s2', 'a2'],
  ],
};

const alive = (manager: SubnetManager) => !manager.isStopped;

/** One of the managers that live is master, the others stand by. */
function elected({ managers }: ManagedFabric): boolean {
  const living = managers.filter(alive);
  return living.filter(({ isMaster }) => isMaster).length === 1 && living.every(({ isSettled }) => isSettled);
}

function lids({ adapters }: ManagedFabric): number[] {
  return adapters.map(({ port }) => port.lid);
}

t.test('of equal priorities the lower GUID wins, else the higher priority', async (t) => {
  ledger(t, '14.4.1', 'The manager of the highest priority becomes master; among equals the lowest GUID does.');
  t.ok(isBetter({ priority: 0, guid: '01' }, { priority: 0, guid: '02' }));
  t.ok(isBetter({ priority: 1, guid: '02' }, { priority: 0, guid: '01' }));
  for (const [first, second, winner] of [
    ['s0', 's1', 0],
    ['s1', 's0', 1],
    ['s0', 'a1', 1],
  ] as const) {
    const fabric = new ManagedFabric({ ...row, managers: [{ at: first }, { at: second }] });
    t.ok(
      fabric.runUntil(() => elected(fabric)),
      `${first} and ${second}`,
    );
    t.ok(fabric.managers[winner].isMaster, `${[first, second][winner]} wins`);
    t.equal(fabric.managers[1 - winner].stateMachine.state, SmState.STANDBY);
    t.ok(fabric.runUntil(() => fabric.allActive));
  }
});

t.test('three managers at once elect one', async (t) => {
  const fabric = new ManagedFabric({ ...row, managers: [{ at: 's2' }, { at: 's1' }, { at: 's0' }] });
  t.ok(fabric.runUntil(() => elected(fabric) && fabric.allActive));
  t.ok(fabric.managers[2].isMaster);
  const takeovers = fabric.managers.map(({ stateMachine }) => stateMachine.takeovers);
  fabric.runUntil(() => false, 100e9);
  t.same(
    fabric.managers.map(({ stateMachine }) => stateMachine.takeovers),
    takeovers,
    'it stays so',
  );
});

t.test('a master hands over to a better manager that comes later', async (t) => {
  ledger(t, '14.4.1', 'A master that finds a better manager hands over to it, and stands by when that agrees.');
  const fabric = new ManagedFabric(row);
  fabric.runUntil(() => elected(fabric));
  const before = lids(fabric);
  const next = fabric.addManager('a2');
  t.ok(fabric.runUntil(() => next.isMaster && elected(fabric), 15e9));
  t.equal(fabric.managers[0].stateMachine.state, SmState.STANDBY);
  t.equal(fabric.managers[0].stateMachine.handovers, 1);
  t.same(lids(fabric), before, 'LIDs stay');
  t.ok(fabric.adapters.every(({ port }) => port.smLid === fabric.adapters[2].port.lid));
});

t.test('a standby takes over when its master dies, and hands back', async (t) => {
  ledger(t, '14.4.1', 'A manager that stands by looks at the master, and takes over when that does not answer.');
  const fabric = new ManagedFabric({ ...row, managers: [{ at: 's0' }, { at: 'a1' }] });
  fabric.runUntil(() => elected(fabric));
  const [own, foreign] = fabric.managers;
  t.ok(foreign.isMaster);
  const before = lids(fabric);
  let reregistrations = 0;
  fabric.adapters[0].port.onChange = (_, change) => {
    if (change === PortChange.CLIENT_REREGISTER) reregistrations++;
  };
  foreign.stop();
  t.ok(
    fabric.runUntil(() => own.isMaster && own.isSettled, 15e9),
    'within 15 s',
  );
  t.same(lids(fabric), before);
  t.ok(fabric.allActive);
  t.ok(reregistrations > 0, 'clients are told to register again');
  const again = fabric.addManager('a1');
  t.ok(
    fabric.runUntil(() => again.isMaster && elected(fabric), 15e9),
    'and back',
  );
});

t.test('a manager that dies after any number of requests leaves a subnet that another one repairs', async (t) => {
  let last = Infinity;
  for (let death = 1; death < last; death += 7) {
    const fabric = new ManagedFabric({ ...row, managers: [{ at: 'a0' }, { at: 's2' }] });
    const [first, second] = fabric.managers;
    fabric.runUntil(() => {
      if (first.client.requests >= death) first.stop();
      return first.isStopped || elected(fabric);
    });
    if (!first.isStopped) last = death;
    first.stop();
    if (!fabric.runUntil(() => second.isMaster && second.isSettled && fabric.allActive, 60e9))
      t.fail(`death after ${death} requests: states ${fabric.linkedPorts.map(({ state }) => state)}`);
    if (new Set(lids(fabric)).size !== 3) t.fail(`death after ${death} requests: LIDs ${lids(fabric)}`);
  }
  t.ok(last > 50, `${last} requests until the subnet was up`);
});

t.test('two subnets become one: one manager stays master, LIDs that clash change', async (t) => {
  const plan = { ...row, links: row.links.filter(([one, other]) => !(one === 's0' && other === 's1')) };
  const fabric = new ManagedFabric({ ...plan, managers: [{ at: 's0' }, { at: 's2' }] });
  t.ok(fabric.runUntil(() => fabric.managers.every(({ isMaster, isSettled }) => isMaster && isSettled)));
  fabric.join('s0', 's1');
  t.ok(fabric.runUntil(() => elected(fabric) && fabric.allActive, 60e9));
  const [first] = fabric.managers;
  t.ok(first.isMaster);
  const all = [...fabric.switches, ...fabric.adapters].map(({ endPorts }) => endPorts[0].lid);
  t.equal(new Set(all).size, all.length, `LIDs ${all}`);
});

t.test('one subnet becomes two: each has a master', async (t) => {
  const fabric = new ManagedFabric({ ...row, managers: [{ at: 's0' }, { at: 's2' }] });
  fabric.runUntil(() => elected(fabric));
  fabric.unplug(fabric.links[0]);
  t.ok(fabric.runUntil(() => fabric.managers.every(({ isMaster, isSettled }) => isMaster && isSettled), 30e9));
});

t.test('managers over lossy links elect one', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const managers = [{ at: 's0' }, { at: 'a1' }, { at: 's2' }];
    const faults = { delayNs: 1000, faults: { drop: 0.1 } };
    const fabric = new ManagedFabric({ ...row, managers, faults, seed });
    if (!fabric.runUntil(() => elected(fabric) && fabric.allActive, 120e9))
      t.fail(`seed ${seed}: ${fabric.managers.map(({ stateMachine }) => stateMachine.state)}`);
  }
  t.pass('20 seeds');
});

t.test('controls by state', async (t) => {
  ledger(t, '14.4.1', 'Set(SMInfo) changes the state of a manager only as its state allows.');
  const { NOT_ACTIVE, DISCOVERING, STANDBY, MASTER } = SmState;
  const { HANDOVER, ACKNOWLEDGE, DISABLE, DISCOVER } = SmControl;
  const wake = SmControl.STANDBY;
  const cells: readonly (readonly [from: SmState, control: number, to: SmState, isValid: boolean])[] = [
    [STANDBY, HANDOVER, MASTER, true],
    [MASTER, HANDOVER, MASTER, true],
    [NOT_ACTIVE, HANDOVER, NOT_ACTIVE, false],
    [MASTER, ACKNOWLEDGE, MASTER, false],
    [STANDBY, DISABLE, NOT_ACTIVE, true],
    [MASTER, DISABLE, MASTER, false],
    [DISCOVERING, DISABLE, DISCOVERING, false],
    [NOT_ACTIVE, wake, STANDBY, true],
    [MASTER, wake, MASTER, false],
    [STANDBY, DISCOVER, DISCOVERING, true],
    [NOT_ACTIVE, DISCOVER, NOT_ACTIVE, false],
    [MASTER, 9, MASTER, false],
  ];
  for (const [from, control, to, isValid] of cells) {
    const stateMachine = new SmStateMachine();
    stateMachine.state = from;
    const status = stateMachine.control(control, '01');
    t.same(
      [stateMachine.state, status],
      [to, isValid ? MadStatus.SUCCESS : MadStatus.INVALID_VALUE],
      `${from} ${control}`,
    );
  }
  const stateMachine = new SmStateMachine();
  stateMachine.becomeMaster();
  stateMachine.successor = { guid: '01', path: [1] };
  t.equal(stateMachine.control(ACKNOWLEDGE, '01'), MadStatus.SUCCESS);
  t.equal(stateMachine.state, STANDBY, 'an acknowledged handover ends the mastership');
  t.equal(stateMachine.control(ACKNOWLEDGE, '01'), MadStatus.SUCCESS, 'also when it ended before');
  t.equal(stateMachine.control(ACKNOWLEDGE, '02'), MadStatus.INVALID_VALUE);
});

t.test('what a manager does after a sweep', async (t) => {
  const own = { priority: 0, guid: '05' };
  const peer = (state: SmState, guid: string, priority = 0) => ({ state, guid, priority }) as unknown as Peer;
  const { NOT_ACTIVE, DISCOVERING, STANDBY, MASTER } = SmState;
  t.equal(decideHandover(own, false, []).kind, 'master');
  t.equal(decideHandover(own, false, [peer(NOT_ACTIVE, '01', 9)]).kind, 'master');
  t.equal(decideHandover(own, false, [peer(DISCOVERING, '01')]).kind, 'yield');
  t.equal(decideHandover(own, false, [peer(DISCOVERING, '09')]).kind, 'master');
  t.equal(decideHandover(own, false, [peer(MASTER, '09')]).kind, 'yield', 'a lesser master will hand over');
  t.equal(decideHandover(own, true, [peer(STANDBY, '01')]).kind, 'hand-over');
  t.equal(decideHandover(own, true, [peer(STANDBY, '09')]).kind, 'master');
  t.equal(decideHandover(own, true, [peer(MASTER, '09')]).kind, 'wait');
  t.equal(decideHandover(own, true, [peer(MASTER, '09'), peer(STANDBY, '01')]).kind, 'hand-over');
});
