// SPDX-License-Identifier: Apache-2.0
/** The report of a subnet: addresses, peers, widths and speeds, errors. */
import t from 'tap';
import { PortCapability } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { Cable } from '../../fabric/link/cable.ts';
import { DropCause } from '../../fabric/switch/drop-causes.ts';
import { TestClock, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { ManagedFabric } from '../../rig/fixtures/managed-fabric.ts';
import { reportFabric } from './fabric-report.ts';
import { reportManagers } from './manager-report.ts';

t.test('an adapter and a switch, as their ports are', async (t) => {
  const clock = new TestClock();
  const adapter = new TestNode('host', 0x100, clock, 2);
  const relay = new TestNode('relay', 0x200, clock, 2, true);
  const cable = new Cable(adapter.ports[0], relay.ports[1]);
  relay.endPorts[0].lid = 5;
  adapter.ports[0].lid = 6;
  adapter.ports[0].smLid = 5;
  relay.endPorts[0].subnet.capabilityMask |= PortCapability.IS_SM;
  relay.ports[1].counters.symbolErrors = 4;
  relay.ports[1].counters.receivedPackets = 9;
  relay.ports[1].counters.receivedBytes = 900;
  const nodes = [
    { name: 'a', mads: adapter.mads },
    { name: 's', mads: relay.mads },
  ];
  const [first, second] = reportFabric(nodes).nodes;
  t.match(first, { name: 'a', type: 'adapter', guid: '0000000000000100', description: 'host' });
  t.match(first.ports[0], { number: 1, guid: '0000000000000101', lid: 6, managerLid: 5, isManager: false });
  t.match(first.ports[0].link, { state: 'INITIALIZE', width: '4x', speed: 'QDR', peer: 's:2' });
  t.equal(first.ports[1].link?.peer, undefined, 'unplugged');
  t.match(second.ports[0], { number: 0, lid: 5, isManager: true });
  t.equal(second.ports[0].link, undefined);
  t.equal(second.ports[2].lid, undefined, 'an external port of a switch has no LID');
  t.same(second.ports[2].link?.errors, { symbolErrors: 4 }, 'packets are no errors');
  t.match(second.ports[2].link, { sentBytes: 0, receivedBytes: 900 });
  t.equal(second.ports[2].link?.peer, 'a:1');
  adapter.ports[0].link = { ...cable, detach: () => {} } as unknown as Cable;
  t.equal(reportFabric(nodes).nodes[1].ports[2].link?.peer, 'elsewhere', 'the other end is not of this process');
});

t.test('a port of a switch reports its drops by cause; the manager what it has to do', (t) => {
  const fabric = new ManagedFabric({ switches: [2], adapters: 1, links: [['a0', 's0']] });
  const report = () => reportFabric([{ name: 's', mads: fabric.switches[0].mads }]).nodes[0].ports[1].link?.drops;
  t.same(report(), {});
  fabric.switches[0].ports[0].drop(DropCause.NO_ROUTE, 3);
  t.same(report(), { 'no route': 3 });
  const ask = () => reportManagers(fabric.managers, fabric.clock.now());
  t.match(ask(), [{ isSettled: false, datagrams: 0 }]);
  fabric.runUntil(() => fabric.managers[0].isSettled);
  const [{ isSettled, datagrams }] = ask();
  t.ok(isSettled && datagrams > 0 && datagrams === fabric.managers[0].sent);
  t.end();
});
