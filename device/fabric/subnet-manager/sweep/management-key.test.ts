// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of a subnet whose ports have a management key (IBTA 14.2.4): requests without it, the
 * lease, managers that know the key and managers that do not.
 */
import t from 'tap';
import {
  getPortInfoMKeyProtect,
  PORT_INFO_M_KEY_OFFSET,
  PORT_INFO_SIZE,
  setPortInfoLid,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { MadStatus, SmState, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';
import { NO_GUID, readGuid } from '../guid.ts';
import type { SubnetManagerOptions } from '../options.ts';
import { defaultSubnetManagerOptions } from '../options.ts';
import { get, NO_ANSWER, type SmpAnswer, SmpClient, type SmpJob, type SmpRequest, set } from '../smp-client.ts';

const KEY = '00c0ffee00c0ffee';
const SECOND = 1e9;
const LEASE_SECONDS = 3;

/** Two switches, three adapters, a manager with a key at the first switch. */
function planOf(options: Partial<SubnetManagerOptions>): ManagedFabricPlan {
  return {
    switches: [4, 4],
    adapters: 3,
    links: [
      ['s0', 's1'],
      ['s0', 'a0'],
      ['s1', 'a1'],
      ['s1', 'a2'],
    ],
    managers: [{ at: 's0', options: { mKey: KEY, ...options } }],
  };
}

function settled(fabric: ManagedFabric): boolean {
  const living = fabric.managers.filter(({ isStopped }) => !isStopped);
  return living.some(({ isMaster }) => isMaster) && living.every(({ isSettled }) => isSettled);
}

function up(options: Partial<SubnetManagerOptions> = {}): ManagedFabric {
  const fabric = new ManagedFabric(planOf(options));
  t.ok(fabric.runUntil(() => settled(fabric) && fabric.allActive));
  return fabric;
}

/** Software at the first adapter that sends requests with a key, each once. */
function softwareOf(fabric: ManagedFabric, mKey = NO_GUID): (request: SmpRequest) => SmpAnswer | undefined {
  const port = fabric.adapters[0].openPort();
  const client = new SmpClient(port, { ...defaultSubnetManagerOptions, mKey, attempts: 1 }, 0x77770000);
  port.onMad = (_, mad) => client.take(mad);
  return (request) => {
    let answer: SmpAnswer | undefined;
    function* job(): SmpJob {
      [answer] = yield [request];
    }
    client.start(job(), () => {});
    client.run(fabric.clock.now());
    const end = fabric.clock.now() + defaultSubnetManagerOptions.timeoutNs;
    fabric.runUntil(() => answer !== undefined || fabric.clock.now() >= end, 2 * SECOND);
    client.run(fabric.clock.now());
    return answer;
  };
}

t.test('the manager protects all ports; a forged Set is refused, counted and reported', async (t) => {
  ledger(t, '14.2.4.1', 'A port with a management key does not serve a Set without it, and sends trap 256.');
  const fabric = up();
  const [manager] = fabric.managers;
  const victim = fabric.adapters[1].port;
  for (const { subnet } of [...fabric.adapters, ...fabric.switches].map(({ endPorts }) => endPorts[0]))
    t.same([readGuid(viewOf(subnet.mKey), 0), subnet.mKeyProtect, subnet.mKeyLease], [KEY, 1, 0]);
  const ask = softwareOf(fabric);
  const lid = victim.lid;
  const info = ask(get(lid, SubnetAttribute.PORT_INFO));
  t.equal(info?.status, MadStatus.SUCCESS, 'protection 1 lets everybody read');
  t.equal(info && readGuid(info.view, PORT_INFO_M_KEY_OFFSET), NO_GUID, 'but not the key');
  const forged = info?.data.slice(0, PORT_INFO_SIZE) ?? new Uint8Array(PORT_INFO_SIZE);
  setPortInfoLid(viewOf(forged), 0, 99);
  const traps: number[] = [];
  manager.administration.forward = (issuer) => void traps.push(issuer);
  t.equal(ask(set(lid, SubnetAttribute.PORT_INFO, 1, forged))?.status, NO_ANSWER);
  t.equal(ask({ ...set(lid, SubnetAttribute.PORT_INFO, 1, forged), key: '1111111111111111' })?.status, NO_ANSWER);
  t.equal(victim.lid, lid);
  t.equal(victim.subnet.mKeyViolations, 2);
  t.equal(fabric.adapters[1].mads.agents.lockedOut, 2);
  t.ok(
    fabric.runUntil(() => traps.includes(lid), 2 * SECOND),
    'the manager hears of it',
  );
  fabric.runUntil(() => false, 5 * SECOND);
  const { sent, repressed } = fabric.adapters[1].mads.traps;
  t.equal(sent, repressed, 'and ends the repetition of each trap');
  t.equal(victim.subnet.mKeyViolations, 2, 'with the key');
  t.equal(fabric.adapters[2].port.subnet.mKeyViolations, 0, 'other ports are not disturbed');
  t.ok(fabric.allActive && manager.isMaster);
});

t.test('protection 2: a Get without the key has no answer', async (t) => {
  ledger(t, '14.2.4.1', 'At protection level 2 a Get needs the management key, too.');
  for (const mKeyProtect of [2, 3]) {
    const fabric = up({ mKeyProtect });
    const lid = fabric.adapters[1].port.lid;
    t.equal(softwareOf(fabric)(get(lid, SubnetAttribute.NODE_INFO))?.status, NO_ANSWER);
    t.equal(softwareOf(fabric, KEY)(get(lid, SubnetAttribute.NODE_INFO))?.status, MadStatus.SUCCESS);
  }
});

t.test('a manager that knows the key takes over, one that does not changes nothing', async (t) => {
  const fabric = up();
  const lids = fabric.adapters.map(({ port }) => port.lid);
  const stranger = fabric.addManager('a2', { lmc: 1, timeoutNs: 1e6 });
  t.ok(
    fabric.runUntil(() => stranger.isMaster && settled(fabric), 60 * SECOND),
    'it wins the election',
  );
  t.same(
    fabric.adapters.map(({ port }) => port.lid),
    lids,
  );
  t.ok(fabric.adapters.every(({ port }) => port.lmc === 0 && readGuid(viewOf(port.subnet.mKey), 0) === KEY));
  t.ok(stranger.sweeper.counters.silent > 0, 'its writes have no answer');
  stranger.stop();
  t.ok(
    fabric.runUntil(() => fabric.managers[0].isMaster && settled(fabric), 30 * SECOND),
    'the old one is back',
  );
  const friend = fabric.addManager('a1', { mKey: KEY, lmc: 1 });
  t.ok(fabric.runUntil(() => friend.isMaster && settled(fabric), 30 * SECOND));
  t.equal(fabric.managers[0].stateMachine.state, SmState.STANDBY);
  t.same([friend.sweeper.counters.silent, friend.sweeper.counters.refusals], [0, 0]);
  t.ok(
    fabric.adapters.every(({ port }) => port.lmc === 1 && port.smLid === fabric.adapters[1].port.lid),
    'it writes every port',
  );
});

t.test('the lease of a port ends only when the manager is dead; another one then takes the port', async (t) => {
  ledger(t, '14.2.4.2', 'After a violation the protection ends with the lease, unless a request with the key comes.');
  const fabric = up({ mKeyLease: LEASE_SECONDS });
  const victim = fabric.adapters[1].port;
  const ask = softwareOf(fabric);
  const forge = () => ask(set(victim.lid, SubnetAttribute.PORT_INFO, 1, new Uint8Array(PORT_INFO_SIZE)));
  const wait = (seconds: number) => fabric.runUntil(() => false, seconds * SECOND);
  forge();
  wait(2 * LEASE_SECONDS);
  t.equal(ask(get(victim.lid, SubnetAttribute.PORT_INFO))?.view.getUint32(0), 0, 'the manager has renewed the lease');
  t.equal(victim.subnet.mKeyProtect, 1);
  fabric.managers[0].stop();
  forge();
  fabric.clock.advance(2 * LEASE_SECONDS * SECOND);
  const info = ask(get(victim.lid, SubnetAttribute.PORT_INFO));
  t.equal(info && getPortInfoMKeyProtect(info.view, 0), 0);
  t.equal(info && readGuid(info.view, PORT_INFO_M_KEY_OFFSET), KEY, 'the key can be read');
  const heir = fabric.addManager('s1', { mKey: 'aaaaaaaaaaaaaaaa', timeoutNs: 1e6 });
  t.ok(fabric.runUntil(() => heir.isMaster, 60 * SECOND));
  t.ok(fabric.runUntil(() => readGuid(viewOf(victim.subnet.mKey), 0) === heir.options.mKey, 60 * SECOND));
});
