// SPDX-License-Identifier: Apache-2.0
/**
 * Management packets at switches: directed routes, VL15 by LID, software at port 0, VL15 overflow.
 */
import t from 'tap';
import {
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET,
  encodeDirectedRouteSmp,
  newDirectedRouteSmp,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { getNoticeTrapNumber } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { MadClass, MadMethod, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';
import { newMadAddress, readMadPacket, subnetAddress, writeMadPacket } from '../agents/mad-packet.ts';
import type { MadPort } from '../agents/mad-port.ts';
import { DropCause } from './drop-causes.ts';

const LINE = {
  trunks: [
    [0, 1],
    [1, 2],
  ],
  ends: [0, 2],
} as const;

/** An SMInfo request, which agents leave to software, along a directed route. */
function request(path: readonly number[]): Uint8Array {
  const mad = new Uint8Array(256);
  const smp = newDirectedRouteSmp();
  smp.baseVersion = 1;
  smp.managementClass = MadClass.SUBNET_DIRECTED_ROUTE;
  smp.classVersion = 1;
  smp.method = MadMethod.GET;
  smp.attributeId = SubnetAttribute.SM_INFO;
  smp.drSlid = 0xffff;
  smp.drDlid = 0xffff;
  smp.hopCount = path.length;
  encodeDirectedRouteSmp(new DataView(mad.buffer), 0, smp);
  mad.set(path, DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET + 1);
  return mad;
}

function listen(port: MadPort): Uint8Array[] {
  const heard: Uint8Array[] = [];
  port.onMad = (_, mad) => heard.push(mad.slice());
  return heard;
}

t.test('a directed route leads over switches to the software of one, whatever the state of the ports', async (t) => {
  ledger(t, '18.2.4', 'A switch relays directed-route packets in every state of its ports but Down');
  ledger(t, '18.2.4', 'A directed-route packet with a port that the switch lacks is discarded');
  const fabric = new SwitchFabric(LINE);
  for (const { ports } of fabric.switches)
    for (const port of ports) if (port.state !== PortState.DOWN) port.setState(PortState.INITIALIZE);
  const doors = fabric.switches.map(({ mads }) => mads.openPort(0));
  const heard = doors.map(listen);
  t.ok(doors[0].send(newMadAddress(), request([2, 2])));
  fabric.settle();
  t.same(
    heard.map(({ length }) => length),
    [0, 0, 1],
  );
  const [mad] = heard[2];
  t.same(
    [...mad.subarray(DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET, DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET + 3)],
    [0, 1, 2],
  );
  t.ok(doors[0].send(newMadAddress(), request([])));
  fabric.settle();
  t.equal(heard[0].length, 1, 'to itself');
  doors[0].send(newMadAddress(), request([9]));
  doors[0].send(newMadAddress(), request([2, 9]));
  fabric.settle();
  t.equal(fabric.switches[0].mads.routeDiscards, 1);
  t.equal(fabric.switches[1].mads.routeDiscards, 1);
});

t.test('management packets go by LID on VL15, to ends and to port 0 of a switch', async (t) => {
  ledger(t, '18.2.4', 'A packet on VL15 stays on VL15, whatever the SL to VL tables say');
  ledger(t, '18.2.4', 'A packet with the LID of port 0 is for the switch itself');
  const fabric = new SwitchFabric(LINE);
  for (const { ports } of fabric.switches)
    for (const port of ports) if (port.state !== PortState.DOWN) port.setState(PortState.ARMED);
  for (const [index, { switchTables }] of fabric.switches.entries()) {
    switchTables.linear[9] = index === 2 ? 0 : 2;
    switchTables.setVirtualLane(1, 2, 0, 15);
  }
  const heard = listen(fabric.switches[2].mads.openPort(0));
  const mad = request([]);
  mad[1] = MadClass.SUBNET;
  const send = (dlid: number): void => {
    const [end] = fabric.ends;
    const ring = end.vl15RingFor(dlid);
    if (ring === undefined) throw new Error('There is no room on VL15.');
    end.transmit(ring, writeMadPacket(ring.view, ring.writeOffset, subnetAddress(1, dlid), mad));
    fabric.settle();
  };
  send(9);
  t.equal(heard.length, 1);
  t.equal(fabric.take(1).length, 0);
  send(2);
  t.match(fabric.take(1), [{ dlid: 2, virtualLane: 15 }]);
  send(77);
  t.equal(fabric.switches[0].ports[0].drops[DropCause.NO_ROUTE], 1);
  t.equal(fabric.switches[0].ports[0].state, PortState.ARMED, 'no data packet has come');
});

t.test('VL15 has no flow control: what has no room is dropped and counted', async (t) => {
  ledger(t, '18.2.4', 'VL15 has no flow control: a packet without room is discarded and counted');
  const fabric = new SwitchFabric(LINE);
  const mad = request([]);
  mad[1] = MadClass.SUBNET;
  const [end] = fabric.ends;
  for (let round = 0; round < 20; round++) {
    const ring = end.vl15RingFor(2);
    if (ring === undefined) t.fail('the first switch takes each one');
    else end.transmit(ring, writeMadPacket(ring.view, ring.writeOffset, subnetAddress(1, 2), mad));
    fabric.settle();
  }
  const last = fabric.switches[2].ports[0];
  t.equal(last.drops[DropCause.NO_MANAGEMENT_ROOM], 4);
  t.equal(last.counters.vl15Dropped, 4);
  t.equal(fabric.take(1).length, 16);
  t.ok(fabric.send(0, 2, 1));
  fabric.settle();
  t.match(fabric.take(1), [{ id: 1 }], 'data lanes are free');
});

t.test('the first data packet makes an armed port active', async (t) => {
  ledger(t, '7.2.7', 'A data packet makes an armed port of a switch active');
  ledger(t, '14.2.5.4', 'PortStateChange is set when a link of the switch goes down');
  const fabric = new SwitchFabric({ ends: [0, 0] });
  const [{ ports, switchTables }] = fabric.switches;
  switchTables.portStateChange = false;
  ports[0].setState(PortState.ARMED);
  fabric.send(0, 2, 1);
  fabric.settle();
  t.equal(ports[0].state, PortState.ACTIVE);
  t.equal(fabric.take(1).length, 1);
  t.notOk(switchTables.portStateChange);
  ports[1].plug(undefined);
  t.ok(switchTables.portStateChange, 'a link that goes down is a change of port state');
});

t.test('traps tell the manager of links that change and of partitions that are enforced', async (t) => {
  ledger(t, '14.2.5.1', 'A switch sends trap 128 when a link goes down or comes up');
  ledger(t, '14.2.5.1', 'A switch sends trap 259 for a packet that partition enforcement discards');
  const fabric = new SwitchFabric(LINE);
  const [, , last] = fabric.switches;
  const [port0] = last.endPorts;
  port0.lid = 9;
  port0.smLid = 1;
  const trapsAt = (): number[] => {
    fabric.settle();
    const numbers: number[] = [];
    const [end] = fabric.ends;
    for (let ring = end.link?.arrival(end); ring !== undefined; ring = end.link?.arrival(end)) {
      if (readMadPacket(ring.view, ring.readOffset, ring.readLength, address, mad))
        numbers.push(getNoticeTrapNumber(new DataView(mad.buffer), 64));
      ring.shift();
    }
    return numbers;
  };
  const address = newMadAddress();
  const mad = new Uint8Array(256);
  last.switchTables.pkeysOf(1).fill(0);
  last.switchTables.onTablesChanged();
  last.ports[0].settings.isOutboundEnforced = true;
  fabric.send(0, 2, 1);
  t.same(trapsAt(), [259]);
  t.equal(last.ports[0].drops[DropCause.OUTPUT_PARTITION], 1);
  last.switchTables.portStateChange = false;
  last.ports[0].plug(undefined);
  t.same(trapsAt(), [128]);
  t.ok(last.switchTables.portStateChange);
  fabric.clock.advance(1e9);
  t.same(trapsAt(), [259, 128], 'repeated until they are repressed');
});
