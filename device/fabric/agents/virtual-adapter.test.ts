// SPDX-License-Identifier: Apache-2.0
/** A virtual adapter alone: what it takes in which state of its port, what its software hears. */
import t from 'tap';
import { encodeMadHeader, newMadHeader } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { getNodeInfoNodeGuidLow } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { MadClass, MadMethod, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { TestClock } from '../../rig/fixtures/mad-fixture.ts';
import { newPort, send } from '../../rig/fixtures/port-pair.ts';
import { Cable } from '../link/cable.ts';
import { Fabric } from '../link/fabric.ts';
import { generalAddress, type MadAddress, newMadAddress, subnetAddress } from './mad-packet.ts';
import { VirtualAdapter } from './virtual-adapter.ts';

function makePair() {
  const clock = new TestClock();
  const first = new VirtualAdapter('first', 0x0056550000000100n, clock);
  const second = new VirtualAdapter('second', 0x0056550000000200n, clock);
  const fabric = new Fabric([first, second]);
  new Cable(first.port, second.port);
  const run = (): void => {
    while (fabric.run(16));
  };
  const heard: { address: MadAddress; mad: Uint8Array }[] = [];
  const doors = [first, second].map((adapter) => adapter.openPort());
  for (const door of doors) door.onMad = (address, mad) => heard.push({ address: { ...address }, mad: mad.slice() });
  return { first, second, doors, heard, run };
}

function makeMad(managementClass: number, method: number, attributeId: number): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  const fields = { baseVersion: 1, classVersion: 1, managementClass, method, attributeId };
  encodeMadHeader(new DataView(mad.buffer), 0, { ...newMadHeader(), ...fields });
  return mad;
}

t.test('its agent answers at INIT, without a LID', (t) => {
  const { first, second, doors, heard, run } = makePair();
  t.same([first.port.state, second.port.state], [PortState.INITIALIZE, PortState.INITIALIZE]);
  doors[0].send(newMadAddress(), makeMad(MadClass.SUBNET, MadMethod.GET, SubnetAttribute.NODE_INFO));
  run();
  t.equal(heard.length, 1);
  t.equal(heard[0].mad[3], MadMethod.GET_RESPONSE);
  t.equal(getNodeInfoNodeGuidLow(new DataView(heard[0].mad.buffer), ATTRIBUTE_OFFSET), 0x200);
  t.end();
});

t.test('software hears datagrams for its LID: on VL15 always, on QP1 when the port is active', (t) => {
  const { first, second, doors, heard, run } = makePair();
  first.port.lid = 4;
  second.port.lid = 5;
  const trap = makeMad(MadClass.SUBNET, MadMethod.TRAP, SubnetAttribute.NOTICE);
  const report = makeMad(MadClass.SUBNET_ADMINISTRATION, MadMethod.REPORT, 2);
  doors[0].send(subnetAddress(4, 5), trap);
  run();
  t.equal(heard.length, 1);
  t.equal(doors[0].send(generalAddress(4, 5), report), false, 'QP1 does not send before the port is active');
  for (const { port } of [first, second]) port.setState(PortState.ACTIVE);
  t.equal(doors[0].send(generalAddress(4, 5), report), true);
  run();
  t.equal(heard.length, 2);
  t.equal(heard[1].address.slid, 4);
  doors[0].send(generalAddress(4, 6), report);
  doors[0].send(generalAddress(4, 5, 0x8001), report);
  doors[0].send(subnetAddress(4, 6), trap);
  run();
  t.equal(heard.length, 2, 'another LID, another partition: nothing is heard');
  t.equal(second.port.receiveDrops, 3);
  t.end();
});

t.test('a port that is unplugged takes and sends nothing', (t) => {
  const { first, second, doors, heard, run } = makePair();
  first.port.plug(undefined);
  t.same([first.port.state, second.port.state], [PortState.DOWN, PortState.DOWN]);
  t.equal(doors[0].send(newMadAddress(), makeMad(MadClass.SUBNET, MadMethod.GET, SubnetAttribute.NODE_INFO)), false);
  run();
  t.equal(heard.length, 0);
  t.end();
});

t.test('an observer sees right CRCs of a packet that needed none', (t) => {
  const adapter = new VirtualAdapter('only', 0x0056550000000100n, new TestClock());
  const peer = newPort(7);
  new Cable(peer, adapter.port);
  for (const port of [peer, adapter.port]) port.setState(PortState.ACTIVE);
  const errors: number[] = [];
  adapter.port.observer = (_port, outgoing, bytes, offset, length) => {
    if (!outgoing)
      errors.push(parsePacket(new DataView(bytes.buffer), offset, length, newParsedPacket(), PacketCheck.ALL));
  };
  for (let id = 0; id < 3; id++) send(peer, id, 50 + id);
  while (adapter.run(16));
  t.same(errors, new Array(3).fill(PacketError.NONE));
  t.end();
});
