// SPDX-License-Identifier: Apache-2.0
/** Hosts of the host door by name: ports of this process, and virtual adapters at a switch. */
import t from 'tap';
import { getNodeInfoNodeType, getNodeInfoPortCount } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import {
  getPortInfoLid,
  getPortInfoLocalPort,
  getPortInfoPortState,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { NodeType, PortCapability, PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Fabric } from '../../fabric/link/fabric.ts';
import { TestClock, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { ManagedFabric } from '../../rig/fixtures/managed-fabric.ts';
import type { FabricHost } from './fabric-host.ts';
import { FabricHosts } from './host-directory.ts';

function makeHosts(switchPorts = 3) {
  const clock = new TestClock();
  const adapter = new TestNode('a', 0x100, clock, 2);
  const relay = new TestNode('s', 0x200, clock, switchPorts, true);
  const fabric = new Fabric([]);
  const nodes = [
    { name: 'a', mads: adapter.mads },
    { name: 's', mads: relay.mads },
  ];
  const hosts = new FabricHosts({ fabric, clock, nodes, managers: [] });
  return { hosts, fabric, adapter, relay };
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer);

t.test('a port of this process has its name in the topology', (t) => {
  const { hosts, adapter, relay, fabric } = makeHosts();
  const second = hosts.open('a:2') as FabricHost;
  t.equal(second.node, adapter);
  t.equal(second.exchange.port.portNumber, 2);
  t.equal(hosts.open('a:2'), second, 'clients of one name share the host');
  const zero = hosts.open('s') as FabricHost;
  t.equal(zero.node, relay);
  t.equal(zero.isActive, false, 'port 0 of a switch waits for a LID');
  relay.endPorts[0].lid = 4;
  t.equal(zero.isActive, true);
  t.equal(fabric.nodes.length, 0, 'nothing is plugged in');
  t.end();
});

t.test('another name is plugged into a free port, and stays', (t) => {
  const { hosts, relay, fabric } = makeHosts();
  const tools = hosts.open('tools') as FabricHost;
  t.equal(relay.ports[0].physicalState, PortPhysicalState.LINK_UP);
  t.equal(relay.ports[0].state, PortState.INITIALIZE, 'it waits for a manager');
  t.equal(fabric.nodes.length, 1);
  hosts.release(tools);
  t.equal(hosts.open('tools'), tools);
  t.same(
    hosts.virtualNodes.map(({ name }) => name),
    ['tools'],
  );
  const again = makeHosts().hosts;
  again.open('other');
  const guid = (again.open('tools') as FabricHost).node.nodeGuid;
  t.same(guid, tools.node.nodeGuid, 'a name has the same GUID in each run');
  t.end();
});

t.test('a client without a name has an adapter that leaves with it', (t) => {
  const { hosts, relay, fabric } = makeHosts();
  const [first, second] = [hosts.open('') as FabricHost, hosts.open('') as FabricHost];
  t.not(first, second);
  t.equal(fabric.nodes.length, 2);
  hosts.release(first);
  t.equal(fabric.nodes.length, 1);
  t.equal(relay.ports[0].state, PortState.DOWN);
  t.equal(relay.ports[0].link, undefined, 'its port is free again');
  hosts.open('tools');
  t.equal(relay.ports[0].state, PortState.INITIALIZE);
  t.end();
});

t.test('without a free port a name is refused, and no name means the first port', (t) => {
  const { hosts, adapter } = makeHosts(2);
  hosts.open('one');
  hosts.open('two');
  t.match(hosts.open('three'), /no switch has a free port; the ports are a:1, a:2, s/);
  t.equal((hosts.open('') as FabricHost).node, adapter);
  t.end();
});

t.test('attributes are those that the agent of the node answers', (t) => {
  const { hosts, adapter, relay } = makeHosts();
  adapter.endPorts[1].lid = 9;
  adapter.endPorts[1].subnet.mKey.fill(7);
  adapter.endPorts[1].subnet.mKeyProtect = 3;
  const host = hosts.open('a:2') as FabricHost;
  const into = new Uint8Array(64);
  host.writeNodeInfo(into);
  t.equal(getNodeInfoNodeType(viewOf(into), 0), NodeType.CHANNEL_ADAPTER);
  host.writePortInfo(into, 0);
  t.equal(getPortInfoLid(viewOf(into), 0), 9);
  t.equal(getPortInfoLocalPort(viewOf(into), 0), 2);
  host.writePKeys(into);
  t.equal(viewOf(into).getUint16(0), 0xffff);
  const zero = hosts.open('s') as FabricHost;
  zero.writeNodeInfo(into);
  t.equal(getNodeInfoPortCount(viewOf(into), 0), relay.ports.length);
  zero.writePortInfo(into, 3);
  t.equal(getPortInfoPortState(viewOf(into), 0), PortState.DOWN, 'an external port of the switch');
  t.end();
});

t.test('the port says that it has a subnet manager while a client is one', (t) => {
  const { hosts, adapter } = makeHosts();
  const host = hosts.open('a:1') as FabricHost;
  const isManager = (): boolean => (adapter.endPorts[0].subnet.capabilityMask & PortCapability.IS_SM) !== 0;
  t.equal(hosts.hasManager, false);
  host.setManager(true);
  host.setManager(true);
  host.setManager(false);
  t.same([isManager(), hosts.hasManager], [true, true]);
  host.setManager(false);
  t.same([isManager(), hosts.hasManager], [false, false]);
  t.end();
});

t.test('the built-in manager of a port sleeps while a client of the port is a manager', (t) => {
  const fabric = new ManagedFabric({ switches: [3], adapters: 1, links: [['s0', 'a0']] });
  const [manager] = fabric.managers;
  const isUp = () => manager.isMaster && manager.isSettled && fabric.allActive;
  t.ok(fabric.runUntil(isUp));
  const nodes = [{ name: 's', mads: fabric.switches[0].mads }];
  const { clock, managers } = fabric;
  const hosts = new FabricHosts({ fabric: new Fabric([]), clock, nodes, managers });
  const host = hosts.open('s') as FabricHost;
  host.setManager(true);
  host.setManager(true);
  const { sent } = manager;
  fabric.runUntil(() => false, 30e9);
  t.equal(manager.sent, sent, 'it says nothing');
  t.equal(hosts.hasManager, true);
  host.setManager(false);
  t.equal(manager.isStopped, true, 'one client is left');
  host.setManager(false);
  t.ok(fabric.runUntil(isUp), 'then it is back');
  t.equal(fabric.switches[0].endPorts[0].subnet.capabilityMask & PortCapability.IS_SM, PortCapability.IS_SM);
  t.end();
});
