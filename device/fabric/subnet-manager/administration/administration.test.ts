// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of subnet administration over a real subnet: queries of every record, component masks,
 * segments, paths, services, subscriptions with reports, further GUIDs, bad requests.
 */

import t from 'tap';
import { getGidNoticeTrapNumber } from '../../../../protocol/infiniband/mad/gen/gid-notice.gen.ts';
import {
  GUID_INFO_RECORD_SIZE,
  setGuidInfoRecordRecordLid,
} from '../../../../protocol/infiniband/mad/gen/guid-info-record.gen.ts';
import {
  INFORM_INFO_SIZE,
  setInformInfoIsGeneric,
  setInformInfoLidRangeBegin,
  setInformInfoProducerType,
  setInformInfoSubscribe,
  setInformInfoTrapNumber,
  setInformInfoType,
} from '../../../../protocol/infiniband/mad/gen/inform-info.gen.ts';
import { setMadHeaderMethod } from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  setNodeRecordNodeType,
  setNodeRecordRecordLid,
} from '../../../../protocol/infiniband/mad/gen/node-record.gen.ts';
import {
  getPathRecordDlid,
  getPathRecordMtu,
  getPathRecordPKey,
  getPathRecordRate,
  getPathRecordSlid,
  PATH_RECORD_DGID_OFFSET,
  PATH_RECORD_SGID_OFFSET,
  PATH_RECORD_SIZE,
  setPathRecordMtu,
  setPathRecordMtuSelector,
  setPathRecordPathCount,
  setPathRecordPKey,
} from '../../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import {
  PORT_INFO_RECORD_SIZE,
  setPortInfoRecordCapabilityMask,
  setPortInfoRecordOptions,
} from '../../../../protocol/infiniband/mad/gen/port-info-record.gen.ts';
import {
  SERVICE_RECORD_SERVICE_GID_OFFSET,
  SERVICE_RECORD_SIZE,
  setServiceRecordLease,
  setServiceRecordServiceIdLow,
  setServiceRecordServicePKey,
} from '../../../../protocol/infiniband/mad/gen/service-record.gen.ts';
import {
  AdministrationAttribute as A,
  MadMethod,
  MadStatus,
  PathSelector,
  PortCapability,
  TrapNumber,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { AdministrationClient } from '../../../rig/fixtures/administration-client.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../rig/fixtures/managed-fabric.ts';

const row: ManagedFabricPlan = {
  switches: [6, 6],
  adapters: 4,
  links: [
    ['s0', 's1'],
    ['s0', 'a0'],
    ['s1', 'a1'],
    ['s1', 'a2'],
  ],
};

function makeFixture(plan: ManagedFabricPlan = row) {
  const fabric = new ManagedFabric(plan);
  const [manager] = fabric.managers;
  fabric.runUntil(() => manager.isMaster && manager.isSettled);
  const clients = fabric.adapters
    .slice(0, 3)
    .map((adapter) => new AdministrationClient(adapter, (isDone) => fabric.runUntil(isDone, 5e9)));
  const gid = (at: number) => fabric.adapters[at].port.gids.slice(0, 16);
  return { fabric, manager, clients, gid };
}

function pathQuery(source: Uint8Array, target: Uint8Array, fill: (view: DataView) => void = () => {}): Uint8Array {
  const data = new Uint8Array(PATH_RECORD_SIZE);
  data.set(source, PATH_RECORD_SGID_OFFSET);
  data.set(target, PATH_RECORD_DGID_OFFSET);
  fill(viewOf(data));
  return data;
}

t.test('every record can be listed', async (t) => {
  ledger(t, '15.2.5', 'Subnet administration lists every kind of record by GetTable.');
  const { clients } = makeFixture();
  const counts: readonly (readonly [attribute: number, count: number])[] = [
    [A.NODE_RECORD, 5],
    [A.PORT_INFO_RECORD, 17],
    [A.SWITCH_INFO_RECORD, 2],
    [A.LINEAR_FORWARDING_TABLE_RECORD, 2],
    [A.MULTICAST_FORWARDING_TABLE_RECORD, 0],
    [A.LINK_RECORD, 8],
    [A.SM_INFO_RECORD, 1],
    [A.PATH_RECORD, 25],
    [A.MC_MEMBER_RECORD, 1],
    [A.SERVICE_RECORD, 0],
    [A.INFORM_INFO_RECORD, 0],
    [A.GUID_INFO_RECORD, 5],
    [A.SL_TO_VL_TABLE_RECORD, 3 + 3 * 2 + 4 * 3],
  ];
  for (const [attribute, count] of counts) {
    const answer = clients[0].ask({ method: MadMethod.GET_TABLE, attribute });
    t.equal(answer?.status, MadStatus.SUCCESS, `attribute ${attribute}`);
    t.equal(answer?.method, MadMethod.GET_TABLE_RESPONSE);
    t.equal(answer?.records.length, count, `attribute ${attribute}`);
  }
  for (const attribute of [A.P_KEY_TABLE_RECORD, A.VL_ARBITRATION_TABLE_RECORD])
    t.ok((clients[0].ask({ method: MadMethod.GET_TABLE, attribute })?.records.length ?? 0) > 3);
});

t.test('what an adapter shows is what its port has', async (t) => {
  ledger(t, '15.2.5.2', 'NodeRecord has NodeInfo and NodeDescription of each port with a LID.');
  const { clients, fabric } = makeFixture();
  const answer = clients[0].ask({ method: MadMethod.GET_TABLE, attribute: A.NODE_RECORD });
  for (const { port, description, nodeGuid } of fabric.adapters.slice(0, 3)) {
    const record = answer?.records.find((each) => viewOf(each).getUint16(0) === port.lid);
    t.same(record?.slice(44, 108), description);
    t.same(record?.slice(16, 24), nodeGuid);
    t.same(record?.slice(24, 32), port.guid);
  }
});

t.test('components choose among the records', async (t) => {
  ledger(t, '15.2.3.1', 'A query compares the components that its mask names, and no others.');
  const { clients, fabric } = makeFixture();
  const [client] = clients;
  const data = new Uint8Array(108);
  setNodeRecordRecordLid(viewOf(data), 0, fabric.adapters[1].port.lid);
  setNodeRecordNodeType(viewOf(data), 0, 2);
  const ask = (method: MadMethod, components: readonly string[]) =>
    client.ask({ method, attribute: A.NODE_RECORD, data, record: 'node-record', components });
  t.equal(ask(MadMethod.GET_TABLE, ['nodeType'])?.records.length, 2, 'switches');
  t.equal(ask(MadMethod.GET_TABLE, ['recordLid'])?.records.length, 1);
  t.equal(ask(MadMethod.GET_TABLE, ['recordLid', 'nodeType'])?.records.length, 0);
  t.equal(ask(MadMethod.GET_TABLE, [])?.records.length, 5);
  const one = ask(MadMethod.GET, ['recordLid']);
  t.same([one?.status, one?.method], [MadStatus.SUCCESS, MadMethod.GET_RESPONSE]);
  t.equal(ask(MadMethod.GET, ['nodeType'])?.status, MadStatus.TOO_MANY_RECORDS);
  t.equal(ask(MadMethod.GET, ['recordLid', 'nodeType'])?.status, MadStatus.NO_RECORDS);
});

t.test('ports by bits of the capability mask', async (t) => {
  const { clients } = makeFixture();
  const data = new Uint8Array(PORT_INFO_RECORD_SIZE);
  setPortInfoRecordOptions(viewOf(data), 0, 0x80);
  setPortInfoRecordCapabilityMask(viewOf(data), 0, PortCapability.IS_SM);
  const request = { attribute: A.PORT_INFO_RECORD, data, record: 'port-info-record' };
  const components = ['options', 'capabilityMask'];
  const answer = clients[0].ask({ ...request, method: MadMethod.GET_TABLE, components });
  t.equal(answer?.records.length, 1, 'the port of the manager');
});

t.test('long tables come in segments, and lost ones again', async (t) => {
  ledger(t, '13.6.6', 'A table longer than a datagram is sent as segments within the window of the receiver.');
  const { clients, manager } = makeFixture();
  const [client] = clients;
  const request = { method: MadMethod.GET_TABLE, attribute: A.PATH_RECORD };
  const whole = client.ask(request);
  t.equal(whole?.segments, 8);
  client.lose.add(1).add(4).add(8);
  const again = client.ask(request);
  t.same(again?.records, whole?.records);
  t.equal(manager.administration.sender.failed, 0);
  t.equal(manager.administration.sender.completed, 2);
});

t.test('a receiver that falls silent costs a few repetitions', async (t) => {
  ledger(t, '13.6.3', 'A transfer whose segments are not acknowledged ends after some repetitions.');
  const { clients, manager, fabric } = makeFixture();
  const [client] = clients;
  for (let segment = 0; segment < 10; segment++) client.lose.add(1);
  fabric.adapters[0].port.plug(undefined);
  manager.administration.take(
    { ...addressOf(fabric.adapters[0].port.lid) },
    client.build({ method: MadMethod.GET_TABLE, attribute: A.PATH_RECORD }),
    fabric.clock.now(),
  );
  t.ok(fabric.runUntil(() => manager.administration.sender.failed === 1, 10e9));
});

function addressOf(slid: number) {
  const qpns = { sourceQpn: 1, destQpn: 1 };
  return { slid, dlid: 1, serviceLevel: 0, ...qpns, qKey: 0x80010000, pKey: 0xffff, isVl15: false };
}

t.test('paths between two ports, and from a port to itself', async (t) => {
  ledger(t, '15.2.5.16', 'A path record has the LIDs, the partition, the MTU and the rate of the path.');
  const { clients, fabric, gid } = makeFixture();
  const request = { method: MadMethod.GET, attribute: A.PATH_RECORD, record: 'path-record' };
  for (const [source, target] of [
    [0, 2],
    [2, 0],
    [1, 1],
  ] as const) {
    const data = pathQuery(gid(source), gid(target), (view) => setPathRecordPathCount(view, 0, 1));
    const answer = clients[0].ask({ ...request, data, components: ['sgid', 'dgid', 'pathCount'] });
    t.equal(answer?.status, MadStatus.SUCCESS);
    const view = viewOf(answer?.records[0] ?? data);
    t.equal(getPathRecordSlid(view, 0), fabric.adapters[source].port.lid);
    t.equal(getPathRecordDlid(view, 0), fabric.adapters[target].port.lid);
    t.same([getPathRecordMtu(view, 0), getPathRecordRate(view, 0), getPathRecordPKey(view, 0)], [5, 7, 0xffff]);
  }
  const none = clients[0].ask({ ...request, data: pathQuery(gid(0), new Uint8Array(16)), components: ['dgid'] });
  t.equal(none?.status, MadStatus.NO_RECORDS);
});

t.test('a count of 0 ends no Get: the answer of another manager may be the next query', async (t) => {
  const { clients, fabric, gid } = makeFixture();
  const request = { attribute: A.PATH_RECORD, record: 'path-record', components: ['sgid', 'dgid', 'pathCount'] };
  const data = pathQuery(gid(0), gid(2), (view) => setPathRecordPathCount(view, 0, 0));
  const answer = clients[0].ask({ ...request, method: MadMethod.GET, data });
  t.equal(answer?.status, MadStatus.SUCCESS);
  t.equal(getPathRecordDlid(viewOf(answer?.records[0] ?? data), 0), fabric.adapters[2].port.lid);
  const table = clients[0].ask({ ...request, method: MadMethod.GET_TABLE, data });
  t.same(table?.records, []);
});

t.test('paths are chosen by MTU and partition', async (t) => {
  ledger(t, '15.2.5.16', 'Selectors compare the MTU of a path: greater, less, exactly, the largest.');
  const { clients, gid } = makeFixture();
  const ask = (components: readonly string[], fill: (view: DataView) => void) => {
    const data = pathQuery(gid(0), gid(1), fill);
    const all = ['sgid', 'dgid', ...components];
    const request = { method: MadMethod.GET, attribute: A.PATH_RECORD, record: 'path-record' };
    const answer = clients[0].ask({ ...request, data, components: all });
    return answer?.status === MadStatus.SUCCESS ? getPathRecordMtu(viewOf(answer.records[0]), 0) : undefined;
  };
  const withMtu = (selector: number, mtu: number) =>
    ask(['mtu', 'mtuSelector'], (view) => {
      setPathRecordMtuSelector(view, 0, selector);
      setPathRecordMtu(view, 0, mtu);
    });
  t.equal(withMtu(PathSelector.EXACT, 4), 4);
  t.equal(withMtu(PathSelector.GREATER, 4), 5);
  t.equal(withMtu(PathSelector.GREATER, 5), undefined);
  t.equal(withMtu(PathSelector.LESS, 4), 3);
  t.equal(withMtu(PathSelector.LARGEST, 0), 5);
  t.equal(
    ask(['pKey'], (view) => setPathRecordPKey(view, 0, 0x7fff)),
    5,
  );
  t.equal(
    ask(['pKey'], (view) => setPathRecordPKey(view, 0, 0x8001)),
    undefined,
  );
});

t.test('paths between groups of ports', async (t) => {
  ledger(t, '15.2.5.20', 'A MultiPathRecord request has paths from each of its sources to each destination.');
  const { clients, gid, fabric } = makeFixture();
  const data = new Uint8Array(24 + 3 * 16);
  data[14] = 0;
  data[15] = 2;
  data[16] = 1;
  for (const [index, at] of [0, 1, 2].entries()) data.set(gid(at), 24 + 16 * index);
  const request = { method: MadMethod.GET_MULTI, attribute: A.MULTI_PATH_RECORD, record: 'multi-path-record' };
  const answer = clients[0].ask({ ...request, data, components: ['sgidCount', 'dgidCount'] });
  t.same([answer?.status, answer?.method], [MadStatus.SUCCESS, MadMethod.GET_MULTI_RESPONSE]);
  const pairs = answer?.records.map((record) => [
    getPathRecordSlid(viewOf(record), 0),
    getPathRecordDlid(viewOf(record), 0),
  ]);
  const [first, second, third] = fabric.adapters.map(({ port }) => port.lid);
  t.same(pairs, [
    [first, third],
    [second, third],
  ]);
  t.equal(clients[0].ask({ ...request, data })?.status, MadStatus.INSUFFICIENT_COMPONENTS);
});

t.test('services are registered, found, and expire', async (t) => {
  ledger(t, '15.2.5.14', 'A service record is found until it is deleted or its lease ends.');
  const { clients, gid, fabric } = makeFixture();
  const data = new Uint8Array(SERVICE_RECORD_SIZE);
  setServiceRecordServiceIdLow(viewOf(data), 0, 77);
  data.set(gid(0), SERVICE_RECORD_SERVICE_GID_OFFSET);
  setServiceRecordServicePKey(viewOf(data), 0, 0xffff);
  setServiceRecordLease(viewOf(data), 0, 4);
  const request = { attribute: A.SERVICE_RECORD, record: 'service-record', data };
  const identity = ['serviceId', 'serviceGid', 'servicePKey'];
  const set = (components: readonly string[]) =>
    clients[0].ask({ ...request, method: MadMethod.SET, components })?.status;
  const found = () => clients[1].ask({ ...request, method: MadMethod.GET, components: ['serviceId'] })?.status;
  t.equal(set(['serviceId']), MadStatus.INSUFFICIENT_COMPONENTS);
  t.equal(found(), MadStatus.NO_RECORDS);
  t.equal(set(identity), MadStatus.SUCCESS);
  t.equal(found(), MadStatus.SUCCESS);
  const remove = () => clients[0].ask({ ...request, method: MadMethod.DELETE, components: identity });
  t.same([remove()?.status, remove()?.status], [MadStatus.SUCCESS, MadStatus.NO_RECORDS]);
  t.equal(found(), MadStatus.NO_RECORDS);
  t.equal(set([...identity, 'lease']), MadStatus.SUCCESS);
  t.equal(found(), MadStatus.SUCCESS);
  const end = fabric.clock.now() + 5e9;
  fabric.runUntil(() => fabric.clock.now() >= end);
  t.equal(found(), MadStatus.NO_RECORDS, 'the lease is over');
});

function subscription(trap: number, subscribe: number): Uint8Array {
  const data = new Uint8Array(INFORM_INFO_SIZE);
  const view = viewOf(data);
  setInformInfoLidRangeBegin(view, 0, 0xffff);
  setInformInfoIsGeneric(view, 0, 1);
  setInformInfoSubscribe(view, 0, subscribe);
  setInformInfoType(view, 0, 0xffff);
  setInformInfoTrapNumber(view, 0, trap);
  setInformInfoProducerType(view, 0, 0xffffff);
  return data;
}

t.test('subscribers hear of GIDs that come and go', async (t) => {
  ledger(t, '15.2.5.12', 'A subscription lasts until it is ended, and is listed meanwhile.');
  const { clients, fabric, manager } = makeFixture();
  const [client, other] = clients;
  const request = { method: MadMethod.SET, attribute: A.INFORM_INFO };
  t.equal(client.ask({ ...request, data: subscription(0xffff, 1) })?.status, MadStatus.SUCCESS);
  t.equal(other.ask({ ...request, data: subscription(TrapNumber.GID_OUT_OF_SERVICE, 1) })?.status, MadStatus.SUCCESS);
  t.equal(client.ask({ method: MadMethod.GET_TABLE, attribute: A.INFORM_INFO_RECORD })?.records.length, 2);
  const link = fabric.join('s1', 'a3');
  const heard = (of: AdministrationClient, trap: number) =>
    of.reports.some((notice) => getGidNoticeTrapNumber(viewOf(notice), 0) === trap);
  t.ok(
    fabric.runUntil(() => heard(client, TrapNumber.GID_IN_SERVICE), 15e9),
    'in service',
  );
  fabric.unplug(link);
  t.ok(
    fabric.runUntil(() => heard(other, TrapNumber.GID_OUT_OF_SERVICE), 15e9),
    'out of service',
  );
  t.notOk(heard(other, TrapNumber.GID_IN_SERVICE), 'only what was subscribed');
  t.ok(heard(client, TrapNumber.LINK_STATE_CHANGE), 'traps of switches are forwarded');
  t.equal(client.ask({ ...request, data: subscription(0xffff, 0) })?.status, MadStatus.SUCCESS);
  t.equal(client.ask({ ...request, data: subscription(0xffff, 0) })?.status, MadStatus.REQUEST_INVALID);
  t.equal(manager.administration.subscriptions.unanswered, 0);
});

t.test('a subscriber that does not answer is asked a few times', async (t) => {
  const { clients, fabric, manager } = makeFixture();
  clients[0].answersReports = false;
  clients[0].ask({ method: MadMethod.SET, attribute: A.INFORM_INFO, data: subscription(64, 1) });
  fabric.join('s1', 'a3');
  t.ok(fabric.runUntil(() => manager.administration.subscriptions.unanswered === 1, 20e9));
  t.equal(clients[0].reports.length, 3);
});

t.test('further GUIDs of a port', async (t) => {
  ledger(t, '15.2.5.18', 'Set(GUIDInfoRecord) gives a port further GUIDs, and paths lead to them.');
  const { clients, fabric, gid } = makeFixture();
  const { port } = fabric.adapters[0];
  const data = new Uint8Array(GUID_INFO_RECORD_SIZE);
  setGuidInfoRecordRecordLid(viewOf(data), 0, port.lid);
  data.set([2, 1, 1, 1, 1, 1, 1, 9], 8 + 8);
  const mad = clients[0].build({ method: MadMethod.SET, attribute: A.GUID_INFO_RECORD, data });
  // Components 5 and 6: the second and the third GUID; the third one is for the manager to choose.
  viewOf(mad).setUint32(36 + 16, (1 << 0) | (1 << 1) | (1 << 5) | (1 << 6));
  clients[0].send(mad);
  t.ok(fabric.runUntil(() => port.gids[16 + 15] === 9, 5e9));
  t.ok(
    fabric.runUntil(() => port.gids.slice(32 + 8, 48).some((byte) => byte !== 0), 5e9),
    'one was given',
  );
  const request = {
    method: MadMethod.GET,
    attribute: A.PATH_RECORD,
    record: 'path-record',
    components: ['sgid', 'dgid'],
  };
  const alias = port.gids.slice(16, 32);
  const answer = clients[1].ask({ ...request, data: pathQuery(gid(1), alias) });
  t.equal(getPathRecordDlid(viewOf(answer?.records[0] ?? new Uint8Array(64)), 0), port.lid);
});

t.test('bad requests have their statuses', async (t) => {
  ledger(t, '15.4', 'A request that cannot be served is answered with a status and changes nothing.');
  const { clients } = makeFixture();
  const [client] = clients;
  t.equal(client.ask({ method: MadMethod.GET, attribute: 0x77 })?.status, MadStatus.UNSUPPORTED_ATTRIBUTE);
  t.equal(client.ask({ method: MadMethod.SET, attribute: A.NODE_RECORD })?.status, MadStatus.UNSUPPORTED_ATTRIBUTE);
  t.equal(client.ask({ method: MadMethod.SEND, attribute: A.NODE_RECORD })?.status, MadStatus.UNSUPPORTED_METHOD);
  t.equal(client.ask({ method: MadMethod.GET, attribute: A.NODE_RECORD, version: 1 })?.status, MadStatus.BAD_VERSION);
  const info = client.ask({ method: MadMethod.GET, attribute: A.CLASS_PORT_INFO });
  t.same([info?.status, info?.records[0][1]], [MadStatus.SUCCESS, 2]);
  const stray = client.build({ method: MadMethod.GET, attribute: A.NODE_RECORD });
  setMadHeaderMethod(viewOf(stray), 0, MadMethod.GET_RESPONSE);
  t.ok(client.send(stray), 'a response that nothing asked for');
  t.equal(client.ask({ method: MadMethod.GET, attribute: A.CLASS_PORT_INFO })?.status, MadStatus.SUCCESS);
});
