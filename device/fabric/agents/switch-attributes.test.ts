// SPDX-License-Identifier: Apache-2.0
/** The subnet management agent of a switch: its tables, and PortInfo of its ports (IBTA 14.2.5). */
import t from 'tap';
import { decodeNodeInfo, newNodeInfo } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import {
  decodePortInfo,
  encodePortInfo,
  newPortInfo,
  type PortInfo,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import {
  decodeSwitchInfo,
  encodeSwitchInfo,
  newSwitchInfo,
  type SwitchInfo,
} from '../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import {
  MadMethod,
  MadStatus,
  NodeType,
  PortState,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { type Response, TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { Cable } from '../link/cable.ts';
import { PortChange } from '../port/end-port.ts';
import { subnetAddress } from './mad-packet.ts';
import type { SwitchTables } from './managed-node.ts';

const { GET, SET } = MadMethod;
const DATA = 64;
const PORTS = 18;

interface Fixture {
  readonly far: TestNode;
  readonly tables: SwitchTables;
  readonly changes: () => number;
  readonly ask: (method: number, attribute: number, modifier?: number, data?: Uint8Array) => Response;
}

/** A manager, and a switch whose port 1 is joined to it. */
function build(): Fixture {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('switch', 0x20, clock, PORTS, true, 4);
  new Cable(near.ports[0], far.ports[0]);
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  const tables = far.switchTables as SwitchTables & { changes: number };
  return {
    far,
    tables,
    changes: () => tables.changes,
    ask: (method, attribute, modifier = 0, data = new Uint8Array(0)) => {
      const response = manager.askDirected([1], { method, attribute, modifier, data });
      if (response === undefined) throw new Error('no response');
      return response;
    },
  };
}

function setSwitch({ ask }: Fixture, changes: Partial<SwitchInfo>): Response {
  const info = decodeSwitchInfo(ask(GET, SubnetAttribute.SWITCH_INFO).view, DATA, newSwitchInfo());
  Object.assign(info, changes);
  const data = new Uint8Array(64);
  encodeSwitchInfo(new DataView(data.buffer), 0, info);
  return ask(SET, SubnetAttribute.SWITCH_INFO, 0, data);
}

function setPort({ ask }: Fixture, portNumber: number, changes: Partial<PortInfo>): Response {
  const info = decodePortInfo(ask(GET, SubnetAttribute.PORT_INFO, portNumber).view, DATA, newPortInfo());
  Object.assign(info, { portState: 0, portPhysicalState: 0 }, changes);
  const data = new Uint8Array(64);
  encodePortInfo(new DataView(data.buffer), 0, info);
  return ask(SET, SubnetAttribute.PORT_INFO, portNumber, data);
}

t.test('NodeInfo of a switch has the GUID of port 0, and its external ports', async (t) => {
  ledger(t, '14.2.5.3', 'NodeInfo of a switch counts the external ports and has the GUID of port 0');
  const { far, ask } = build();
  const { view, data } = ask(GET, SubnetAttribute.NODE_INFO);
  const info = decodeNodeInfo(view, DATA, newNodeInfo());
  t.match(info, { nodeType: NodeType.SWITCH, portCount: PORTS, localPort: 1, partitionCapacity: 32 });
  t.same(data.slice(20, 28), far.endPorts[0].guid);
});

t.test('SwitchInfo has capacities, and takes what a manager may set', async (t) => {
  ledger(t, '14.2.5.4', 'SwitchInfo has the capacities of the tables, and an enhanced port 0');
  const fixture = build();
  const info = decodeSwitchInfo(fixture.ask(GET, SubnetAttribute.SWITCH_INFO).view, DATA, newSwitchInfo());
  t.match(info, {
    linearCapacity: 1024,
    randomCapacity: 0,
    multicastCapacity: 64,
    partitionEnforcementCapacity: 32,
    inboundEnforcement: 1,
    outboundEnforcement: 1,
    enhancedPort0: 1,
  });
  ledger(t, '14.2.5.4', 'A manager sets LinearFDBTop, LifeTimeValue, MulticastFDBTop and the default multicast ports');
  const wanted = {
    linearTop: 600,
    lifeTime: 12,
    multicastTop: 0xc010,
    defaultMulticastPrimaryPort: 3,
    defaultMulticastNotPrimaryPort: 4,
  };
  t.equal(setSwitch(fixture, wanted).status, MadStatus.SUCCESS);
  t.match(fixture.tables, wanted);
  t.equal(fixture.changes(), 1);
});

t.test('an illegal value of SwitchInfo changes nothing', async (t) => {
  ledger(t, '14.2.5.4', 'A Set(SwitchInfo) beyond a capacity has status 0x1c and changes nothing');
  for (const illegal of [
    { linearTop: 1024 },
    { multicastTop: 0xc040 },
    { multicastTop: 0x1234 },
    { defaultMulticastPrimaryPort: PORTS + 1 },
    { defaultMulticastNotPrimaryPort: 200 },
  ]) {
    const fixture = build();
    t.equal(setSwitch(fixture, { lifeTime: 3, ...illegal }).status, MadStatus.INVALID_VALUE, JSON.stringify(illegal));
    t.equal(fixture.tables.lifeTime, 18);
    t.equal(fixture.changes(), 0);
  }
});

t.test('PortStateChange is set by a port, and cleared by writing 1', async (t) => {
  ledger(t, '14.2.5.4', 'PortStateChange is set when a port changes its state; writing 1 clears it, 0 leaves it');
  const fixture = build();
  const read = (): number =>
    decodeSwitchInfo(fixture.ask(GET, SubnetAttribute.SWITCH_INFO).view, DATA, newSwitchInfo()).portStateChange;
  t.equal(read(), 1, 'the link came up');
  setSwitch(fixture, { portStateChange: 0 });
  t.equal(read(), 1);
  setSwitch(fixture, { portStateChange: 1 });
  t.equal(read(), 0);
  fixture.far.ports[0].setState(PortState.ARMED);
  t.equal(read(), 1);
});

t.test('the linear forwarding table is written in blocks of 64 LIDs', async (t) => {
  ledger(t, '14.2.5.10', 'LinearForwardingTable is written in blocks of 64 ports');
  const { tables, ask, changes } = build();
  const data = Uint8Array.from({ length: 64 }, (_, lid) => lid % PORTS);
  for (const block of [0, 15]) {
    t.same(ask(SET, SubnetAttribute.LINEAR_FORWARDING_TABLE, block, data).data.slice(0, 64), data);
    t.same(tables.linear.slice(block * 64, block * 64 + 64), data);
  }
  t.equal(changes(), 2);
  t.ok(
    tables.linear.subarray(64, 960).every((port) => port === 255),
    'the others stay',
  );
  for (const method of [GET, SET])
    t.equal(ask(method, SubnetAttribute.LINEAR_FORWARDING_TABLE, 16, data).status, MadStatus.INVALID_VALUE);
});

t.test('the multicast forwarding table is written by blocks of 32 LIDs and 16 ports', async (t) => {
  ledger(t, '14.2.5.12', 'MulticastForwardingTable is written by block of LIDs and position of ports');
  const { tables, ask } = build();
  const data = Uint8Array.from({ length: 64 }, (_, index) => index * 3);
  const second = 0x10000001;
  t.same(ask(SET, SubnetAttribute.MULTICAST_FORWARDING_TABLE, second, data).data.slice(0, 64), data);
  t.equal(tables.getMulticastPorts(33, 1), 0x0609);
  t.equal(tables.getMulticastPorts(33, 0), 0);
  for (const modifier of [2, 0x20000000, 0x00010000])
    t.equal(ask(SET, SubnetAttribute.MULTICAST_FORWARDING_TABLE, modifier, data).status, MadStatus.INVALID_VALUE);
});

t.test('service levels are mapped by input and output port', async (t) => {
  ledger(t, '14.2.5.8', 'A switch has a map of service levels for each pair of ports');
  const { tables, ask } = build();
  const data = Uint8Array.of(0x32, 0x10, 0x32, 0x10, 0x32, 0x10, 0x32, 0x1f);
  t.same(ask(SET, SubnetAttribute.SL_TO_VL_TABLE, 0x0205, data).data.slice(0, 8), data);
  t.equal(tables.getVirtualLane(2, 5, 0), 3);
  t.equal(tables.getVirtualLane(2, 5, 15), 15);
  t.equal(tables.getVirtualLane(5, 2, 0), 0, 'not in the other direction');
  t.equal(ask(GET, SubnetAttribute.SL_TO_VL_TABLE, 0x1301).status, MadStatus.INVALID_VALUE);
  t.equal(ask(GET, SubnetAttribute.SL_TO_VL_TABLE, 0x0113).status, MadStatus.INVALID_VALUE);
});

t.test('arbitration and partition keys are of the port that the modifier names', async (t) => {
  ledger(t, '14.2.5.9', 'The modifier names block and output port of the arbitration table of a switch');
  const { far, tables, ask } = build();
  const turns = new Uint8Array(64);
  turns.set([1, 10]);
  t.equal(ask(SET, SubnetAttribute.VL_ARBITRATION_TABLE, 0x10003, turns).status, MadStatus.SUCCESS);
  t.same(far.ports[2].settings.vlArbitrationLow.slice(0, 2), Uint8Array.of(1, 10));
  t.same(far.ports[0].settings.vlArbitrationLow.slice(0, 2), Uint8Array.of(0, 1));
  t.equal(ask(SET, SubnetAttribute.VL_ARBITRATION_TABLE, 0x10000, turns).status, MadStatus.INVALID_VALUE, 'port 0');
  ledger(t, '14.2.5.7', 'The modifier names block and port of the partition keys of a switch');
  const heard: number[] = [];
  far.endPorts[0].onChange = (_port, change) => heard.push(change);
  const keys = new Uint8Array(64);
  keys.set([0x80, 0x07]);
  ask(SET, SubnetAttribute.P_KEY_TABLE, 0x30000, keys);
  t.equal(tables.pkeysOf(3)[0], 0x8007);
  t.same(heard, [], 'external ports are not those of software');
  ask(SET, SubnetAttribute.P_KEY_TABLE, 0, keys);
  t.equal(far.endPorts[0].pkeys[0], 0x8007);
  t.same(heard, [PortChange.PKEY]);
  t.equal(ask(GET, SubnetAttribute.P_KEY_TABLE, 0x130000).status, MadStatus.INVALID_VALUE);
});

t.test('port 0 has the addresses, and the external ports have the links', async (t) => {
  ledger(t, '14.2.5.6', 'The LID of a switch is that of port 0; external ports have none');
  const fixture = build();
  const { far } = fixture;
  t.equal(setPort(fixture, 0, { lid: 9, masterSmLid: 1, subnetTimeout: 5 }).status, MadStatus.SUCCESS);
  t.equal(far.endPorts[0].lid, 9);
  const zero = decodePortInfo(fixture.ask(GET, SubnetAttribute.PORT_INFO).view, DATA, newPortInfo());
  t.match(zero, { lid: 9, portState: PortState.ACTIVE, portPhysicalState: 5, guidCapacity: 8 });
  t.equal(setPort(fixture, 1, { lid: 0, portState: PortState.ARMED, neighborMtu: 3 }).status, MadStatus.SUCCESS);
  t.equal(far.ports[0].state, PortState.ARMED);
  const first = decodePortInfo(fixture.ask(GET, SubnetAttribute.PORT_INFO, 1).view, DATA, newPortInfo());
  t.match(first, { lid: 0, masterSmLid: 0, capabilityMask: 0, neighborMtu: 3, portState: PortState.ARMED });
  t.equal(setPort(fixture, PORTS, { partitionEnforcementInbound: 1, filterRawOutbound: 1 }).status, MadStatus.SUCCESS);
  t.match(far.ports[PORTS - 1].settings, { isInboundEnforced: true, isOutboundEnforced: false });
  t.equal(fixture.ask(GET, SubnetAttribute.PORT_INFO, PORTS + 1).status, MadStatus.INVALID_VALUE);
});

t.test('port 0 can be armed and activated, and not taken down', async (t) => {
  ledger(t, '14.2.5.6', 'Port 0 of a switch is always active');
  const fixture = build();
  const of = (changes: Partial<PortInfo>): number => setPort(fixture, 0, changes).status;
  t.equal(of({ portState: PortState.ARMED }), MadStatus.SUCCESS);
  t.equal(of({ portState: PortState.ACTIVE }), MadStatus.SUCCESS);
  t.equal(of({ portState: PortState.DOWN }), MadStatus.INVALID_VALUE);
  t.equal(of({ portPhysicalState: 3 }), MadStatus.INVALID_VALUE);
});

t.test('a request for LIDs of the switch itself by LID', async (t) => {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('switch', 0x20, clock, 2, true);
  new Cable(near.ports[0], far.ports[0]);
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  far.endPorts[0].lid = 5;
  const tables = far.switchTables as SwitchTables;
  const request = { method: GET, attribute: SubnetAttribute.SWITCH_INFO };
  t.equal(manager.askByLid(subnetAddress(1, 5), request), undefined, 'the way back is not known');
  tables.linearTop = 5;
  tables.linear[1] = 1;
  t.equal(manager.askByLid(subnetAddress(1, 5), request)?.status, MadStatus.SUCCESS);
});
