// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet management agent of adapters, through a door and over a cable (IBTA 14.2.4, 14.2.5).
 */
import t from 'tap';
import { getNodeInfoLocalPort, getNodeInfoPortCount } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import {
  decodePortInfo,
  encodePortInfo,
  newPortInfo,
  type PortInfo,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import {
  MadMethod,
  MadStatus,
  PortPhysicalState,
  PortState,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { type Response, TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { Cable } from '../link/cable.ts';
import { PortChange } from '../port/end-port.ts';
import { subnetAddress } from './mad-packet.ts';

const { GET, SET } = MadMethod;
const DATA = 64;
const KEY = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

interface Fixture {
  readonly clock: TestClock;
  readonly near: TestNode;
  readonly far: TestNode;
  readonly manager: TestManager;
}

/** A manager at `near`, a cable, and `far` with two ports, of which the first is joined. */
function build(dataVls = 1): Fixture {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock, 1, false, dataVls);
  const far = new TestNode('far', 0x20, clock, 2, false, dataVls);
  new Cable(near.ports[0], far.ports[0]);
  return { clock, near, far, manager: new TestManager(near.mads.openPort(1), [near, far], clock) };
}

function getInfo(manager: TestManager, modifier = 0, mKey?: Uint8Array): PortInfo | undefined {
  const request = { method: GET, attribute: SubnetAttribute.PORT_INFO, modifier };
  const response = manager.askDirected([1], mKey === undefined ? request : { ...request, mKey });
  return response === undefined ? undefined : decodePortInfo(response.view, DATA, newPortInfo());
}

/** Sets PortInfo as it is, with changes. */
function setInfo(fixture: Fixture, changes: Partial<PortInfo>, mKey?: Uint8Array, modifier = 0): Response | undefined {
  const info = newPortInfo();
  const current = fixture.manager.askDirected([1], { method: GET, attribute: SubnetAttribute.PORT_INFO, modifier });
  if (current !== undefined) decodePortInfo(current.view, DATA, info);
  Object.assign(info, { portState: 0, portPhysicalState: 0 }, changes);
  const data = new Uint8Array(64);
  encodePortInfo(new DataView(data.buffer), 0, info);
  const request = { method: SET, attribute: SubnetAttribute.PORT_INFO, modifier, data };
  return fixture.manager.askDirected([1], mKey === undefined ? request : { ...request, mKey });
}

const LOCATED = { lid: 4, masterSmLid: 9 } as const;

t.test('a node says what it is', async (t) => {
  ledger(t, '14.2.5.3', 'NodeInfo has type, ports, GUIDs and the port by which the request came in');
  const { manager, far } = build();
  const info = manager.askDirected([1], { method: GET, attribute: SubnetAttribute.NODE_INFO });
  t.equal(info?.status, MadStatus.SUCCESS);
  t.equal(info === undefined ? 0 : getNodeInfoPortCount(info.view, DATA), 2);
  t.equal(info === undefined ? 0 : getNodeInfoLocalPort(info.view, DATA), 1);
  t.same(info?.data.slice(12, 20), far.nodeGuid);
  t.same(info?.data.slice(20, 28), far.ports[0].guid);
  ledger(t, '14.2.5.2', 'NodeDescription is a text of 64 bytes');
  const description = manager.askDirected([1], { method: GET, attribute: SubnetAttribute.NODE_DESCRIPTION });
  t.equal(new TextDecoder().decode(description?.data.subarray(0, 3)), 'far');
  t.equal(description?.data[3], 0);
});

t.test('a node answers itself on a route without hops', async (t) => {
  const { manager, near } = build();
  const info = manager.askDirected([], { method: GET, attribute: SubnetAttribute.NODE_INFO });
  t.equal(info?.status, MadStatus.SUCCESS);
  t.same(info?.data.slice(12, 20), near.nodeGuid);
});

t.test('a manager takes a port from INITIALIZE to ACTIVE', async (t) => {
  ledger(t, '14.2.5.6', 'Set(PortInfo) gives a port its LID and takes it to Armed, then to Active');
  const fixture = build();
  const { far } = fixture;
  t.equal(getInfo(fixture.manager)?.portState, PortState.INITIALIZE);
  t.equal(setInfo(fixture, { ...LOCATED, portState: PortState.ARMED, neighborMtu: 4 })?.status, MadStatus.SUCCESS);
  t.equal(far.ports[0].state, PortState.ARMED);
  t.equal(far.ports[0].lid, 4);
  t.equal(far.ports[0].mtuBytes, 2048);
  const response = setInfo(fixture, { portState: PortState.ACTIVE });
  t.equal(response?.status, MadStatus.SUCCESS);
  t.equal(response === undefined ? 0 : decodePortInfo(response.view, DATA, newPortInfo()).portState, PortState.ACTIVE);
});

const illegal: readonly (readonly [what: string, change: Partial<PortInfo>])[] = [
  ['a multicast LID', { lid: 0xc000 }],
  ['the permissive LID', { lid: 0xffff }],
  ['a LID with a bit where LMC has path bits', { lid: 5, lmc: 1 }],
  ['a multicast LID of the manager', { masterSmLid: 0xc123 }],
  ['a width that is not supported', { linkWidthEnabled: 4 }],
  ['a reserved width', { linkWidthEnabled: 32 }],
  ['a speed that is not supported', { linkSpeedEnabled: 8 }],
  ['a default state of Disabled', { linkDownDefaultState: 3 }],
  ['an MTU of 0', { neighborMtu: 0 }],
  ['an MTU above that of the port', { neighborMtu: 6 }],
  ['more lanes than the port has', { operationalVls: 2 }],
  ['the physical state Training', { portPhysicalState: 4 }],
  ['the physical state LinkUp', { portPhysicalState: PortPhysicalState.LINK_UP }],
  ['a physical state together with Armed', { portPhysicalState: 2, portState: PortState.ARMED }],
  ['the state Initialize', { portState: PortState.INITIALIZE }],
  ['the state Active from Initialize', { portState: PortState.ACTIVE }],
  ['a reserved state', { portState: 5 }],
];

for (const [what, change] of illegal)
  t.test(`PortInfo with one illegal value changes nothing: ${what}`, async (t) => {
    ledger(t, '14.2.5.6', `A Set(PortInfo) with an illegal value has status 0x1c and changes nothing: ${what}`);
    const fixture = build();
    const before = getInfo(fixture.manager);
    const wanted = { ...LOCATED, subnetTimeout: 3, mKeyHigh: 7, localPhysicalErrors: 1, ...change };
    t.equal(setInfo(fixture, wanted)?.status, MadStatus.INVALID_VALUE, JSON.stringify(change));
    t.same(getInfo(fixture.manager), before, JSON.stringify(change));
  });

t.test('every component that a manager sets can be read', async (t) => {
  for (const component of ['LID', 'LMC', 'GIDPrefix', 'M_KeyLeasePeriod', 'LinkWidthEnabled', 'LinkSpeedEnabled'])
    ledger(t, '14.2.5.6', `PortInfo:${component} can be set and read`);
  for (const component of ['LinkDownDefaultState', 'NeighborMTU', 'MasterSMSL', 'VLHighLimit', 'OperationalVLs'])
    ledger(t, '14.2.5.6', `PortInfo:${component} can be set and read`);
  for (const component of ['VLStallCount', 'HOQLife', 'SubnetTimeOut', 'LocalPhyErrors', 'OverrunErrors'])
    ledger(t, '14.2.5.6', `PortInfo:${component} can be set and read`);
  ledger(t, '14.2.5.6', 'LinkWidthEnabled 255 and LinkSpeedEnabled 15 enable what is supported');
  const fixture = build(4);
  const wanted: Partial<PortInfo> = {
    ...LOCATED,
    lid: 8,
    lmc: 3,
    gidPrefixHigh: 0xfe800000,
    gidPrefixLow: 77,
    mKeyLease: 15,
    linkWidthEnabled: 1,
    linkSpeedEnabled: 3,
    linkDownDefaultState: 1,
    neighborMtu: 2,
    masterSmSl: 5,
    vlHighLimit: 17,
    operationalVls: 2,
    vlStallCount: 3,
    headOfQueueLife: 12,
    multicastPkeyTrapSuppression: 1,
    subnetTimeout: 13,
    localPhysicalErrors: 2,
    overrunErrors: 3,
  };
  t.equal(setInfo(fixture, wanted)?.status, MadStatus.SUCCESS);
  t.match(getInfo(fixture.manager), wanted);
  t.equal(
    setInfo(fixture, { linkWidthEnabled: 255, linkSpeedEnabled: 15, linkDownDefaultState: 0, operationalVls: 0 })
      ?.status,
    0,
  );
  const { linkWidthEnabled, linkSpeedEnabled, linkDownDefaultState, operationalVls } = getInfo(fixture.manager) ?? {};
  t.equal(linkWidthEnabled, 3, 'all ones enable what is supported');
  t.equal(linkSpeedEnabled, 7);
  t.equal(linkDownDefaultState, 1, '0 changes nothing');
  t.equal(operationalVls, 2);
});

t.test('software hears of what a manager changes, of the state last', async (t) => {
  ledger(t, '11.6.3.1', 'Changes of LID, manager, GIDs and partition keys, and reregistration, are reported');
  const fixture = build();
  const [port] = fixture.far.ports;
  const heard: string[] = [];
  const names = Object.keys(PortChange);
  port.onChange = (_port, change) => heard.push(names[change]);
  port.onStateChange = () => heard.push('STATE');
  const wanted = { ...LOCATED, gidPrefixLow: 1, clientReregister: 1, portState: PortState.ARMED };
  const response = setInfo(fixture, wanted);
  t.same(heard, ['GID', 'LID', 'SM', 'CLIENT_REREGISTER', 'STATE']);
  ledger(t, '14.2.5.6', 'The response to a Set repeats ClientReregister, and a Get never shows it (o14-12.2.1)');
  t.equal(response === undefined ? 0 : decodePortInfo(response.view, DATA, newPortInfo()).clientReregister, 1);
  t.equal(getInfo(fixture.manager)?.clientReregister, 0);
  heard.length = 0;
  setInfo(fixture, {});
  t.same(heard, [], 'nothing changed');
});

t.test('the GIDs of a port follow its prefix', async (t) => {
  ledger(t, '14.2.5.6', 'A new GID prefix is that of all GIDs of the port');
  const fixture = build();
  const [port] = fixture.far.ports;
  const data = new Uint8Array(64);
  data.set([9, 9, 9, 9, 9, 9, 9, 9], 8);
  const set = fixture.manager.askDirected([1], { method: SET, attribute: SubnetAttribute.GUID_INFO, data });
  t.equal(set?.status, MadStatus.SUCCESS);
  setInfo(fixture, { gidPrefixHigh: 0x01020304, gidPrefixLow: 0x05060708 });
  t.same(port.gids.slice(0, 16), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, ...port.guid));
  t.same(port.gids.slice(16, 32), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9));
  t.ok(
    port.gids.subarray(32).every((byte) => byte === 0),
    'free entries stay free',
  );
});

t.test('GUIDs can be set, except the first one', async (t) => {
  ledger(t, '14.2.5.5', 'GUIDInfo is written in blocks of eight, and GUID 0 is read-only');
  const { manager, far } = build();
  const [port] = far.ports;
  const changes: number[] = [];
  port.onChange = (_port, change) => changes.push(change);
  const data = new Uint8Array(64).fill(0x33);
  const ask = (method: number, modifier: number): Response | undefined =>
    manager.askDirected([1], { method, attribute: SubnetAttribute.GUID_INFO, modifier, data });
  const first = ask(SET, 0);
  t.same(first?.data.slice(0, 8), port.guid);
  t.same(first?.data.slice(8, 64), data.subarray(8));
  t.same(changes, [PortChange.GID], 'one event for the block');
  t.equal(ask(SET, 15)?.status, MadStatus.SUCCESS, 'the last block of 128 entries');
  t.equal(ask(SET, 16)?.status, MadStatus.INVALID_VALUE);
  t.equal(ask(GET, 16)?.status, MadStatus.INVALID_VALUE);
  port.gids.fill(0xaa, 32, 48);
  t.ok(
    ask(GET, 0)
      ?.data.subarray(16, 24)
      .every((byte) => byte === 0),
    'a GID of another prefix has no GUID',
  );
});

t.test('partition keys are written in blocks of 32', async (t) => {
  ledger(t, '14.2.5.7', 'P_KeyTable is written in blocks of 32 keys');
  const { manager, far } = build();
  const [port] = far.ports;
  const changes: number[] = [];
  port.onChange = (_port, change) => changes.push(change);
  const data = new Uint8Array(64);
  data.set([0xff, 0xff, 0x80, 0x05], 0);
  const ask = (method: number, modifier: number): Response | undefined =>
    manager.askDirected([1], { method, attribute: SubnetAttribute.P_KEY_TABLE, modifier, data });
  t.same(ask(SET, 0)?.data.slice(0, 6), Uint8Array.of(0xff, 0xff, 0x80, 0x05, 0, 0));
  t.same([...port.pkeys.subarray(0, 3)], [0xffff, 0x8005, 0]);
  t.same(changes, [PortChange.PKEY]);
  ask(SET, 0);
  t.equal(changes.length, 1, 'the same keys again are no change');
  t.equal(ask(SET, 3)?.status, MadStatus.SUCCESS);
  t.equal(port.pkeys[97], 0x8005);
  t.equal(ask(SET, 4)?.status, MadStatus.INVALID_VALUE);
});

t.test('service levels take the lanes that a manager gives them', async (t) => {
  ledger(t, '14.2.5.8', 'SLtoVLMappingTable gives each service level its lane');
  const { manager, far } = build(4);
  const data = Uint8Array.from([0x01, 0x23, 0x01, 0x23, 0xff, 0x04, 0, 0]);
  const set = manager.askDirected([1], { method: SET, attribute: SubnetAttribute.SL_TO_VL_TABLE, data });
  t.same(set?.data.slice(0, 8), data);
  const { transmitQueues } = far.ports[0];
  t.equal(transmitQueues.ringOf(3), transmitQueues.rings[3]);
  t.equal(transmitQueues.ringOf(8), undefined, 'lane 15');
  t.equal(transmitQueues.ringOf(11), undefined, 'a lane that does not exist');
});

t.test('arbitration tables are written in halves', async (t) => {
  ledger(t, '14.2.5.9', 'VLArbitrationTable has two blocks of low and two of high priority');
  const { manager, far } = build(4);
  const data = new Uint8Array(64);
  data.set([2, 40, 3, 1, 7, 9]);
  const ask = (method: number, block: number): Response | undefined =>
    manager.askDirected([1], { method, attribute: SubnetAttribute.VL_ARBITRATION_TABLE, modifier: block << 16, data });
  const low = ask(GET, 1);
  t.same(low?.data.slice(0, 10), Uint8Array.of(0, 1, 1, 1, 2, 1, 3, 1, 0, 0), 'at first every lane has one turn');
  for (const block of [1, 2, 3, 4]) {
    t.equal(ask(SET, block)?.status, MadStatus.SUCCESS);
    t.same(ask(GET, block)?.data.slice(0, 64), data);
  }
  for (const block of [0, 5]) t.equal(ask(SET, block)?.status, MadStatus.INVALID_VALUE);
  const blocks = new Uint16Array(8).fill(1);
  t.equal(far.ports[0].transmitQueues.arbiter.pick(0b1111, blocks), 2, 'the high table is in use');
});

t.test('a beacon, and no diagnostics of a vendor', async (t) => {
  ledger(t, '14.2.5.15', 'LedInfo switches the beacon of a port');
  const { manager, far } = build();
  const data = Uint8Array.of(0x80, 0, 0, 0);
  const led = manager.askDirected([1], { method: SET, attribute: SubnetAttribute.LED_INFO, data });
  t.same(led?.data.slice(0, 4), data);
  t.ok(far.ports[0].settings.hasBeacon);
  ledger(t, '14.2.5.14', 'VendorDiag without data has NextIndex 0');
  const request = { method: GET, attribute: SubnetAttribute.VENDOR_DIAG };
  const diag = manager.askDirected([1], { ...request, data: new Uint8Array(64).fill(5) });
  t.ok(diag?.data.subarray(0, 64).every((byte) => byte === 0));
  t.equal(manager.askDirected([1], { ...request, modifier: 1 })?.status, MadStatus.INVALID_VALUE);
});

t.test('PortInfo of each port of an adapter is there at any of them', async (t) => {
  ledger(t, '14.2.5.6', 'The attribute modifier names the port, and 0 the port of arrival');
  const fixture = build();
  t.equal(setInfo(fixture, { lid: 30, masterSmLid: 9 }, undefined, 2)?.status, MadStatus.SUCCESS);
  t.same(
    fixture.far.ports.map(({ lid }) => lid),
    [0, 30],
  );
  t.equal(getInfo(fixture.manager, 2)?.localPort, 1, 'the port of arrival');
  const request = { method: GET, attribute: SubnetAttribute.PORT_INFO, modifier: 3 };
  t.equal(fixture.manager.askDirected([1], request)?.status, MadStatus.INVALID_VALUE);
});

t.test('without the management key a request is dropped and counted', async (t) => {
  ledger(t, '14.2.4', 'A Set without the management key is dropped and counted as a violation');
  const fixture = build();
  const { far, manager } = fixture;
  setInfo(fixture, { mKeyHigh: 0x01020304, mKeyLow: 0x05060708, ...LOCATED });
  t.equal(setInfo(fixture, { lid: 5 }), undefined);
  t.equal(far.ports[0].lid, 4);
  t.equal(far.ports[0].subnet.mKeyViolations, 1);
  t.equal(setInfo(fixture, { lid: 6, mKeyHigh: 0x01020304, mKeyLow: 0x05060708 }, KEY)?.status, MadStatus.SUCCESS);
  t.equal(getInfo(manager)?.mKeyViolations, 1);
  t.equal(far.mads.agents.lockedOut, 1);
});

t.test('protection levels hide the key, then all attributes', async (t) => {
  ledger(t, '14.2.4', 'Level 0 shows the key, level 1 hides it, levels 2 and 3 protect reads');
  for (const [level, readable, visible] of [
    [0, true, true],
    [1, true, false],
    [2, false, false],
    [3, false, false],
  ] as const) {
    const fixture = build();
    setInfo(fixture, { mKeyHigh: 0x01020304, mKeyLow: 0x05060708, mKeyProtect: level, ...LOCATED });
    const info = getInfo(fixture.manager);
    t.equal(info !== undefined, readable, `level ${level}`);
    t.equal(info?.mKeyHigh === 0x01020304, visible, `level ${level}`);
    t.equal(getInfo(fixture.manager, 0, KEY)?.mKeyLow, 0x05060708, 'the key opens all');
    t.equal(fixture.far.ports[0].subnet.mKeyViolations, readable ? 0 : 1);
  }
});

t.test('the protection ends when its lease ends', async (t) => {
  ledger(t, '14.2.4', 'A violation starts the lease, the key stops it, and its end clears the protection');
  const fixture = build();
  const { clock, far, manager } = fixture;
  setInfo(fixture, { mKeyHigh: 0x01020304, mKeyLow: 0x05060708, mKeyProtect: 2, mKeyLease: 10, ...LOCATED });
  t.equal(getInfo(manager), undefined);
  clock.nowNs += 9e9;
  t.not(getInfo(manager, 0, KEY), undefined, 'the manager is alive');
  clock.nowNs += 9e9;
  t.equal(getInfo(manager), undefined, 'the lease starts again');
  clock.nowNs += 11e9;
  t.not(getInfo(manager), undefined);
  t.equal(far.ports[0].subnet.mKeyProtect, 0);
  t.equal(setInfo(fixture, { lid: 7 }), undefined, 'a Set still needs the key');
});

t.test('violation counters are cleared by 0 alone', async (t) => {
  const fixture = build();
  const [port] = fixture.far.ports;
  port.badPkeys = 70000;
  port.badQkeys = 3;
  t.equal(getInfo(fixture.manager)?.pKeyViolations, 0xffff, 'a counter stops at its largest value');
  setInfo(fixture, { pKeyViolations: 5, qKeyViolations: 0 });
  t.equal(port.badPkeys, 70000);
  t.equal(port.badQkeys, 0);
});

t.test('the agent answers by LID, on VL15, with LID 0 and with the permissive LID', async (t) => {
  ledger(t, '14.2.2', 'A port in Initialize answers subnet management packets, whatever its LID');
  const { manager, far } = build();
  for (const address of [subnetAddress(0, 0xffff), subnetAddress(3, 0)]) {
    if (address.dlid === 0) far.ports[0].lid = 0;
    manager.door.send(address, new Uint8Array(256));
    const response = manager.askByLid(address, { method: GET, attribute: SubnetAttribute.NODE_INFO });
    t.equal(response?.status, MadStatus.SUCCESS, `DLID ${address.dlid}`);
  }
});

t.test('unknown versions, methods and attributes have their statuses', async (t) => {
  ledger(t, '13.4.7', 'An unsupported version, method or attribute is answered with its status');
  const { manager } = build();
  const status = (method: number, attribute: number, classVersion = 1): number | undefined =>
    manager.askDirected([1], { method, attribute, classVersion })?.status;
  t.equal(status(GET, SubnetAttribute.NODE_INFO, 2), MadStatus.BAD_VERSION);
  t.equal(status(0x44, SubnetAttribute.NODE_INFO), MadStatus.UNSUPPORTED_METHOD);
  t.equal(status(GET, 0x7777), MadStatus.UNSUPPORTED_ATTRIBUTE);
  t.equal(status(SET, SubnetAttribute.NODE_INFO), MadStatus.UNSUPPORTED_ATTRIBUTE);
  t.equal(status(GET, SubnetAttribute.SM_INFO), MadStatus.UNSUPPORTED_ATTRIBUTE, 'without a manager');
  t.equal(status(GET, SubnetAttribute.SWITCH_INFO), MadStatus.UNSUPPORTED_ATTRIBUTE, 'it is no switch');
});

t.test('a port that is disabled sends no answer, and one that is set down trains again', async (t) => {
  const fixture = build();
  setInfo(fixture, { ...LOCATED, portState: PortState.ARMED });
  setInfo(fixture, { portState: PortState.DOWN });
  t.equal(fixture.far.ports[0].state, PortState.INITIALIZE);
  t.equal(fixture.far.ports[0].lid, 4, 'its LID stays');
  t.equal(setInfo(fixture, { portPhysicalState: PortPhysicalState.DISABLED }), undefined);
  t.equal(fixture.far.ports[0].state, PortState.DOWN);
  t.equal(fixture.near.ports[0].state, PortState.DOWN);
});
