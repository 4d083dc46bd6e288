// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of multicast groups and partitions over a real subnet: joining, creating and leaving, the
 * tables of the switches, the broadcast groups of IPoIB, who may be a member.
 */

import t from 'tap';
import {
  getMcMemberRecordJoinState,
  getMcMemberRecordMlid,
  getMcMemberRecordMtu,
  getMcMemberRecordPKey,
  getMcMemberRecordQKey,
  getMcMemberRecordRate,
  MC_MEMBER_RECORD_MGID_OFFSET,
  MC_MEMBER_RECORD_PORT_GID_OFFSET,
  MC_MEMBER_RECORD_SIZE,
  setMcMemberRecordJoinState,
  setMcMemberRecordMtu,
  setMcMemberRecordMtuSelector,
  setMcMemberRecordPKey,
  setMcMemberRecordQKey,
} from '../../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import {
  AdministrationAttribute as A,
  MadMethod,
  MadStatus,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type AdministrationAnswer, AdministrationClient } from '../../../rig/fixtures/administration-client.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';
import { writeGidText } from '../guid.ts';
import { defaultPartition, type Partition } from '../options.ts';
import { JoinState } from './groups.ts';

const BROADCAST = 'ff12401bffff000000000000ffffffff';
const GROUP = 'ff12a01bfe8000000000000000000042';
const JOIN = ['mgid', 'portGid', 'joinState'];
const CREATE = [...JOIN, 'qKey', 'trafficClass', 'pKey', 'serviceLevel', 'flowLabel'];

/** Three switches in a row, an adapter at each. */
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

class Fixture {
  readonly fabric: ManagedFabric;
  readonly clients: AdministrationClient[];

  constructor(partitions: readonly Partition[] = [defaultPartition]) {
    this.fabric = new ManagedFabric({ ...row, managers: [{ at: 's0', options: { partitions } }] });
    const [manager] = this.fabric.managers;
    this.fabric.runUntil(() => manager.isMaster && manager.isSettled);
    const wait = (isDone: () => boolean) => this.fabric.runUntil(isDone, 5e9);
    this.clients = this.fabric.adapters.map((adapter) => new AdministrationClient(adapter, wait));
  }

  /** Sends a request about an adapter's membership. */
  ask(
    at: number,
    mgid: string,
    joinState: number,
    components: readonly string[] = JOIN,
    fill: (view: DataView) => void = () => {},
    method: MadMethod = MadMethod.SET,
  ): AdministrationAnswer | undefined {
    const data = new Uint8Array(MC_MEMBER_RECORD_SIZE);
    const view = viewOf(data);
    writeGidText(view, MC_MEMBER_RECORD_MGID_OFFSET, mgid);
    data.set(this.fabric.adapters[at].port.gids.subarray(0, 16), MC_MEMBER_RECORD_PORT_GID_OFFSET);
    setMcMemberRecordJoinState(view, 0, joinState);
    setMcMemberRecordPKey(view, 0, 0xffff);
    fill(view);
    const request = { attribute: A.MC_MEMBER_RECORD, record: 'mc-member-record', data };
    return this.clients[at].ask({ ...request, method, components });
  }

  leave(at: number, mgid: string, joinState: number): AdministrationAnswer | undefined {
    return this.ask(at, mgid, joinState, JOIN, () => {}, MadMethod.DELETE);
  }

  /** Ports of a group at each switch, as masks. */
  masks(mlid: number): number[] {
    return this.fabric.switches.map(({ switchTables }) => switchTables.getMulticastPorts(mlid - 0xc000, 0));
  }
}

function viewOfAnswer(answer: AdministrationAnswer | undefined): DataView {
  return viewOf(answer?.records[0] ?? new Uint8Array(MC_MEMBER_RECORD_SIZE));
}

t.test('the broadcast group of IPoIB exists, and adapters join it', async (t) => {
  ledger(t, '15.2.5.17', 'A port joins a group by Set(MCMemberRecord), and packets then reach it.');
  const fixture = new Fixture();
  const [first] = fixture.fabric.adapters.map((_, at) => fixture.ask(at, BROADCAST, JoinState.FULL));
  const view = viewOfAnswer(first);
  t.equal(first?.status, MadStatus.SUCCESS);
  t.same(
    [getMcMemberRecordQKey(view, 0), getMcMemberRecordMtu(view, 0), getMcMemberRecordRate(view, 0)],
    [0x0b1b, 4, 3],
    'Q_Key, 2048 bytes, 10 Gbit/s',
  );
  t.equal(getMcMemberRecordPKey(view, 0), 0xffff);
  const mlid = getMcMemberRecordMlid(view, 0);
  t.equal(mlid, 0xc000);
  t.same(fixture.masks(mlid), [0b110, 0b1110, 0b110]);
});

t.test('a group is created, is known to members, and goes with its last member', async (t) => {
  ledger(t, '15.2.5.17', 'A group exists from the request of its first full member until its last one leaves.');
  const fixture = new Fixture();
  t.equal(fixture.ask(0, GROUP, JoinState.FULL)?.status, MadStatus.INSUFFICIENT_COMPONENTS);
  t.equal(fixture.ask(0, GROUP, JoinState.NON, CREATE)?.status, MadStatus.REQUEST_INVALID, 'not by a non-member');
  const made = fixture.ask(0, GROUP, JoinState.FULL, CREATE, (view) => setMcMemberRecordQKey(view, 0, 0x1234));
  t.equal(made?.status, MadStatus.SUCCESS);
  const mlid = getMcMemberRecordMlid(viewOfAnswer(made), 0);
  t.same(fixture.masks(mlid), [0b100, 0, 0], 'only where there are members');
  const joined = fixture.ask(2, GROUP, JoinState.FULL);
  t.equal(getMcMemberRecordQKey(viewOfAnswer(joined), 0), 0x1234);
  t.same(fixture.masks(mlid), [0b110, 0b110, 0b110]);
  t.equal(fixture.leave(1, GROUP, JoinState.FULL)?.status, MadStatus.REQUEST_INVALID, 'not a member');
  t.equal(fixture.leave(0, GROUP, JoinState.FULL)?.status, MadStatus.SUCCESS);
  t.same(fixture.masks(mlid), [0, 0, 0b100]);
  t.equal(fixture.leave(2, GROUP, JoinState.FULL)?.status, MadStatus.SUCCESS);
  t.same(fixture.masks(mlid), [0, 0, 0]);
  t.equal(fixture.ask(0, GROUP, JoinState.FULL)?.status, MadStatus.INSUFFICIENT_COMPONENTS, 'it is gone');
});

t.test('a member that only sends has a way in and none out', async (t) => {
  ledger(t, '10.5.2', 'A send-only member reaches the group and gets no packets of it.');
  const fixture = new Fixture();
  fixture.ask(2, GROUP, JoinState.FULL, CREATE);
  const answer = fixture.ask(0, GROUP, JoinState.SEND_ONLY);
  t.equal(getMcMemberRecordJoinState(viewOfAnswer(answer), 0), JoinState.SEND_ONLY);
  const masks = fixture.masks(getMcMemberRecordMlid(viewOfAnswer(answer), 0));
  t.same(masks, [0b010, 0b110, 0b110]);
  fixture.leave(2, GROUP, JoinState.FULL);
  t.same(fixture.masks(0xc001), [0, 0, 0], 'without receivers the group is gone');
});

t.test('the manager chooses the GID of a group that has none', async (t) => {
  const fixture = new Fixture();
  const answer = fixture.ask(0, '0'.repeat(32), JoinState.FULL, CREATE);
  t.equal(answer?.status, MadStatus.SUCCESS);
  t.equal(answer?.records[0][0], 0xff);
});

t.test('requests that do not suit the group are refused', async (t) => {
  const fixture = new Fixture();
  const withMtu = (selector: number, mtu: number) =>
    fixture.ask(0, BROADCAST, JoinState.FULL, [...JOIN, 'mtuSelector', 'mtu'], (view) => {
      setMcMemberRecordMtuSelector(view, 0, selector);
      setMcMemberRecordMtu(view, 0, mtu);
    })?.status;
  t.equal(withMtu(2, 5), MadStatus.REQUEST_INVALID);
  t.equal(withMtu(2, 4), MadStatus.SUCCESS);
  const withKey = fixture.ask(0, BROADCAST, JoinState.FULL, [...JOIN, 'qKey'], (view) =>
    setMcMemberRecordQKey(view, 0, 1),
  );
  t.equal(withKey?.status, MadStatus.REQUEST_INVALID);
  t.equal(fixture.ask(0, BROADCAST, 0)?.status, MadStatus.REQUEST_INVALID, 'no join state');
  t.equal(fixture.ask(0, 'fe80'.padEnd(32, '0'), JoinState.FULL, CREATE)?.status, MadStatus.REQUEST_INVALID);
});

t.test('members leave with their port', async (t) => {
  const fixture = new Fixture();
  fixture.ask(1, GROUP, JoinState.FULL, CREATE);
  fixture.ask(2, GROUP, JoinState.FULL);
  const { fabric } = fixture;
  fabric.unplug(fabric.links[4]);
  t.ok(
    fabric.runUntil(() => fixture.masks(0xc001).join() === '0,8,0', 15e9),
    'the tree is cut back',
  );
  const [{ administration }] = fabric.managers;
  t.equal(administration.multicast.find(GROUP)?.members.size, 1);
});

t.test('partitions: keys of the ports, enforcement, and who may join', async (t) => {
  ledger(t, '10.9', 'Ports have the keys of their partitions, and only those join the groups of a partition.');
  const guids = ['5655540000000001', '5655540000000011'];
  const members = guids.map((guid) => ({ guid, membership: 'full' as const }));
  const fixture = new Fixture([defaultPartition, { name: 'red', pKey: 1, members, ipoib: true }]);
  const keys = fixture.fabric.adapters.map(({ port }) => [...port.pkeys.slice(0, 3)]);
  t.same(keys, [
    [0xffff, 0x8001, 0],
    [0xffff, 0x8001, 0],
    [0xffff, 0, 0],
  ]);
  const red = 'ff12401b8001000000000000ffffffff';
  t.equal(fixture.ask(0, red, JoinState.FULL)?.status, MadStatus.SUCCESS);
  t.equal(fixture.ask(2, red, JoinState.FULL)?.status, MadStatus.REQUEST_INVALID);
  const [, , last] = fixture.fabric.switches;
  t.same([...last.switchTables.pkeysOf(2).slice(0, 2)], [0xffff, 0], 'the switch port knows the keys');
  t.ok(last.ports[1].settings.isInboundEnforced && last.ports[1].settings.isOutboundEnforced);
});
