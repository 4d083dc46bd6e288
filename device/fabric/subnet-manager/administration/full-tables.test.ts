// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of tables that are full: records, groups, transfers, LIDs and partition keys. One port that
 * takes all it can get leaves room for others, and each refusal has a status and a counter.
 */
import t from 'tap';
import {
  INFORM_INFO_SIZE,
  setInformInfoSubscribe,
  setInformInfoTrapNumber,
} from '../../../../protocol/infiniband/mad/gen/inform-info.gen.ts';
import {
  MC_MEMBER_RECORD_MGID_OFFSET,
  MC_MEMBER_RECORD_PORT_GID_OFFSET,
  MC_MEMBER_RECORD_SIZE,
  setMcMemberRecordJoinState,
  setMcMemberRecordPKey,
} from '../../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import {
  SERVICE_RECORD_SERVICE_GID_OFFSET,
  SERVICE_RECORD_SIZE,
  setServiceRecordServiceIdLow,
  setServiceRecordServicePKey,
} from '../../../../protocol/infiniband/mad/gen/service-record.gen.ts';
import {
  AdministrationAttribute as A,
  MadMethod,
  MadStatus,
  NodeType,
  RmppType,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { AdministrationClient } from '../../../rig/fixtures/administration-client.ts';
import { ManagedFabric } from '../../../rig/fixtures/managed-fabric.ts';
import { writeGidText } from '../guid.ts';
import { defaultPartition, type Partition } from '../options.ts';
import { writeRmppHeader } from '../rmpp/rmpp.ts';
import { Subnet, SubnetNode, SubnetPort } from '../subnet.ts';
import { LidAssignment } from '../sweep/lids.ts';

function makeFixture(partitions: readonly Partition[] = [defaultPartition]) {
  const links = Array.from({ length: 6 }, (_, at): [string, string] => ['s0', `a${at}`]);
  const managers = [{ at: 's0', options: { partitions } }];
  const fabric = new ManagedFabric({ switches: [8], adapters: 6, links, managers });
  const [manager] = fabric.managers;
  t.ok(fabric.runUntil(() => manager.isMaster && manager.isSettled && fabric.allActive));
  const wait = (isDone: () => boolean) => fabric.runUntil(isDone, 5e9);
  const clients = fabric.adapters.map((adapter) => new AdministrationClient(adapter, wait));
  return { fabric, manager, clients };
}

t.test('groups: a port may create 256, and the tables of the switches have room for 1024', async (t) => {
  const { fabric, clients, manager } = makeFixture();
  const components = ['mgid', 'portGid', 'joinState', 'qKey', 'trafficClass', 'pKey', 'serviceLevel', 'flowLabel'];
  const create = (at: number, number: number) => {
    const data = new Uint8Array(MC_MEMBER_RECORD_SIZE);
    const view = viewOf(data);
    writeGidText(view, MC_MEMBER_RECORD_MGID_OFFSET, `ff12a01bfe80${number.toString(16).padStart(20, '0')}`);
    data.set(fabric.adapters[at].port.gids.subarray(0, 16), MC_MEMBER_RECORD_PORT_GID_OFFSET);
    setMcMemberRecordJoinState(view, 0, 1);
    setMcMemberRecordPKey(view, 0, 0xffff);
    const request = { attribute: A.MC_MEMBER_RECORD, record: 'mc-member-record', data };
    return clients[at].ask({ ...request, method: MadMethod.SET, components })?.status;
  };
  const statuses = [0, 1, 2, 3].map((at) => {
    const all = Array.from({ length: 257 }, (_, number) => create(at, 1000 * at + number));
    return all.filter((status) => status === MadStatus.SUCCESS).length;
  });
  t.same(statuses, [256, 256, 256, 255], 'IPoIB has one of 1024');
  t.equal(create(4, 9000), MadStatus.NO_RESOURCES);
  t.equal(create(4, 7), MadStatus.SUCCESS, 'a port may still join a group that exists');
  t.equal(manager.administration.multicast.refused, 6);
  t.equal(manager.administration.counters.refusals, 0, 'no switch refused a block');
});

t.test('services and subscriptions: one port does not take them all', async (t) => {
  const { fabric, clients } = makeFixture();
  const register = (at: number, id: number) => {
    const data = new Uint8Array(SERVICE_RECORD_SIZE);
    setServiceRecordServiceIdLow(viewOf(data), 0, id);
    setServiceRecordServicePKey(viewOf(data), 0, 0xffff);
    data.set(fabric.adapters[at].port.gids.subarray(0, 16), SERVICE_RECORD_SERVICE_GID_OFFSET);
    const request = { attribute: A.SERVICE_RECORD, record: 'service-record', data };
    const components = ['serviceId', 'serviceGid', 'servicePKey'];
    return clients[at].ask({ ...request, method: MadMethod.SET, components })?.status;
  };
  const subscribe = (at: number, trap: number) => {
    const data = new Uint8Array(INFORM_INFO_SIZE);
    setInformInfoSubscribe(viewOf(data), 0, 1);
    setInformInfoTrapNumber(viewOf(data), 0, trap);
    return clients[at].ask({ method: MadMethod.SET, attribute: A.INFORM_INFO, data })?.status;
  };
  for (const [limit, ask] of [
    [512, register],
    [64, subscribe],
  ] as const) {
    const statuses = Array.from({ length: limit + 2 }, (_, id) => ask(0, id + 1));
    t.same(statuses.indexOf(MadStatus.NO_RESOURCES), limit);
    t.equal(ask(0, 1), MadStatus.SUCCESS, 'what is there can be renewed');
    t.equal(ask(1, 1), MadStatus.SUCCESS, 'another port has room');
  }
});

t.test('transfers: a flood of segments or of queries without ACK leaves room for others', async (t) => {
  const { clients, manager, fabric } = makeFixture();
  const [bad, good] = clients;
  const { receiver, sender } = manager.administration;
  for (let count = 0; count < 500; count++) {
    const mad = bad.build({ method: MadMethod.GET_MULTI, attribute: A.MULTI_PATH_RECORD });
    writeRmppHeader(viewOf(mad), RmppType.DATA, 0, 1, 1000, true, false);
    bad.send(mad);
    if (count % 8 === 7) fabric.settle();
  }
  fabric.settle();
  t.ok(receiver.aborted > 400, `${receiver.aborted} transfers were stopped`);
  const answer = good.ask({ method: MadMethod.GET_TABLE, attribute: A.NODE_RECORD });
  t.equal(answer?.records.length, 7);
  for (let segment = 0; segment < 500; segment++) bad.lose.add(1);
  for (let count = 0; count < 500; count++) {
    bad.send(bad.build({ method: MadMethod.GET_TABLE, attribute: A.PATH_RECORD }));
    bad.lose.add(1);
    if (count % 8 === 7) fabric.settle();
  }
  fabric.settle();
  t.ok(sender.refused > 400, `${sender.refused} queries have no answer`);
  const paths = good.ask({ method: MadMethod.GET_TABLE, attribute: A.PATH_RECORD });
  t.equal(paths?.records.length, 49);
  fabric.runUntil(() => false, 30e9);
  t.same([receiver.nextNs, sender.nextNs], [Infinity, Infinity], 'in the end nothing is kept');
  t.ok(manager.isMaster && fabric.allActive);
});

t.test('LIDs: ports for which none is free stay without, and the others keep theirs', async (t) => {
  const subnet = new Subnet();
  const ports = Array.from({ length: 400 }, (_, index) => {
    const guid = (index + 1).toString(16).padStart(16, '0');
    const node = new SubnetNode(guid, NodeType.CHANNEL_ADAPTER, 1, new Uint8Array(40));
    node.ports[1] = new SubnetPort(node, 1, guid, []);
    subnet.nodes.set(guid, node);
    return node.ports[1];
  });
  const assignment = new LidAssignment();
  const first = assignment.assign(subnet, 7);
  // 49152 unicast LIDs are 384 times 128, and LID 0 is none.
  t.equal(first.size, 383);
  t.equal(assignment.homeless, 17);
  const again = assignment.assign(subnet, 7);
  t.same(
    ports.slice(0, 383).map((port) => again.get(port)),
    ports.slice(0, 383).map((port) => first.get(port)),
  );
});

t.test('partition keys: those beyond the table of a port are counted', async (t) => {
  const partitions = Array.from({ length: 40 }, (_, index): Partition => {
    return { name: `p${index}`, pKey: index + 1, members: 'all', ipoib: false };
  });
  const { manager, fabric } = makeFixture([defaultPartition, ...partitions]);
  // Port 0 of a switch has 32 entries, ports of adapters have 128.
  t.equal(manager.sweeper.counters.cutKeys > 0, true);
  t.equal(fabric.adapters[0].port.pkeys[40], 0x8028);
  t.equal(manager.sweeper.counters.refusals, 0);
});
