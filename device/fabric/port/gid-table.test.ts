// SPDX-License-Identifier: Apache-2.0
/**
 * GID tables: entries that software sets, the right to set them, their use, and address vectors
 * that name an unused entry (IBTA 4.1.1, 9.6.1.2).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { GID_ATTRIBUTES_GID_OFFSET } from '../../../protocol/layout/gen/gid-attributes.gen.ts';
import {
  MANAGEMENT_COMMAND_MODIFIER_OFFSET,
  MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET,
  MANAGEMENT_COMMAND_OPCODE_OFFSET,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import { QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET } from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { Port, parseGuid, portGuid } from './port.ts';

const { BAD_FIELD, BAD_OBJECT, NOT_PERMITTED, OK } = ManagementStatus;
const ENTRIES = 128;
const GRH = 40;
const GUID = '00565548434fff00';
const EMPTY = new Uint8Array(16);
const ONE = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
const OTHER = Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
const PEER = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9);

function setGid({ driver }: { driver: Driver }, port: number, index: number, payload: Uint8Array) {
  const command = { opcode: ManagementOpcode.MODIFY_GID, objectNumber: index, modifier: port, payload };
  return driver.management.execute(command);
}

function gidOf({ driver }: { driver: Driver }, port: number, index: number): Uint8Array {
  const { payload } = driver.management.perform({
    opcode: ManagementOpcode.QUERY_GID,
    objectNumber: index,
    modifier: port,
  });
  return new Uint8Array(payload.buffer, payload.byteOffset, 16).slice();
}

t.test('entries are set, read and cleared for each port separately', async (t) => {
  const fixture = new AdapterFixture();
  fixture.asynchronous.walk();
  const [first] = fixture.machine.device.ports;
  t.same(gidOf(fixture, 1, 0), Uint8Array.of(...first.subnetPrefix, ...first.guid));
  t.same(gidOf(fixture, 1, 5), EMPTY);
  t.equal(setGid(fixture, 1, 5, ONE).status, OK);
  t.equal(setGid(fixture, 1, ENTRIES - 1, OTHER).status, OK);
  t.same([5, ENTRIES - 1].map((index) => gidOf(fixture, 1, index)), [ONE, OTHER]); // biome-ignore format: short
  t.same(gidOf(fixture, 2, 5), EMPTY);
  t.equal(setGid(fixture, 1, 5, ONE).status, OK, 'as it is');
  t.equal(setGid(fixture, 1, 5, EMPTY).status, OK);
  t.same(gidOf(fixture, 1, 5), EMPTY);
  const events = fixture.asynchronous.walk().map(({ eventType, port }) => [eventType, port]);
  t.same(events, Array(4).fill([EventType.GID_CHANGE, 1]));
  fixture.driver.reset();
  fixture.bringUp();
  t.same(gidOf(fixture, 1, ENTRIES - 1), EMPTY, 'a reset clears the entries that software set');
  t.notSame(gidOf(fixture, 1, 0), EMPTY);
  fixture.finish();
});

t.test('a refused change of an entry changes nothing', async (t) => {
  const fixture = new AdapterFixture();
  setGid(fixture, 1, 5, ONE);
  const own = gidOf(fixture, 1, 0);
  const multicast = ONE.slice();
  multicast[0] = 0xff;
  const loopback = EMPTY.slice();
  loopback[15] = 1;
  for (const [what, port, index, gid, status, badOffset, limit] of [
    ['port 0', 0, 6, OTHER, BAD_FIELD, MANAGEMENT_COMMAND_MODIFIER_OFFSET, 2],
    ['port 3', 3, 6, OTHER, BAD_FIELD, MANAGEMENT_COMMAND_MODIFIER_OFFSET, 2],
    ['entry 0', 1, 0, OTHER, BAD_OBJECT, MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET, ENTRIES - 1],
    ['an entry beyond the table', 1, ENTRIES, OTHER, BAD_OBJECT, MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET, ENTRIES - 1],
    ['a multicast GID', 1, 6, multicast, BAD_FIELD, COMMAND_HEADER_BYTES + GID_ATTRIBUTES_GID_OFFSET, 0],
    ['the loopback GID', 1, 6, loopback, BAD_FIELD, COMMAND_HEADER_BYTES + GID_ATTRIBUTES_GID_OFFSET, 0],
    ['a GID that is there', 1, 6, ONE, BAD_FIELD, COMMAND_HEADER_BYTES + GID_ATTRIBUTES_GID_OFFSET, 0],
    ['the GID of entry 0', 1, 6, own, BAD_FIELD, COMMAND_HEADER_BYTES + GID_ATTRIBUTES_GID_OFFSET, 0],
  ] as const) {
    t.match(setGid(fixture, port, index, gid), { status, badOffset, limit }, what);
    t.same([0, 5, 6].map((entry) => gidOf(fixture, 1, entry)), [own, ONE, EMPTY], what); // biome-ignore format: short
  }
  const query = { opcode: ManagementOpcode.QUERY_GID, objectNumber: ENTRIES, modifier: 1 };
  t.match(fixture.driver.management.execute(query), { status: BAD_OBJECT, limit: ENTRIES - 1 });
  fixture.finish();
});

t.test('a virtual function reads the table and gets events of changes, and cannot change it', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2 });
  const driver = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  const events = driver.createEventQueue({ vector: 3, asynchronous: true });
  t.match(setGid({ driver }, 1, 5, ONE), { status: NOT_PERMITTED, badOffset: MANAGEMENT_COMMAND_OPCODE_OFFSET });
  t.same(gidOf({ driver }, 1, 5), EMPTY);
  t.equal(setGid(fixture, 1, 5, ONE).status, OK);
  t.same(gidOf({ driver }, 1, 5), ONE);
  t.match(events.take()[0], { eventType: EventType.GID_CHANGE, port: 1 });
  fixture.driver.reset();
  t.match(events.take()[0], { eventType: EventType.GID_CHANGE, port: 1 }, 'the entry went with the physical function');
  t.same(gidOf({ driver }, 1, 5), EMPTY);
  fixture.driver.reset();
  fixture.bringUp();
  t.same(events.walk(), [], 'nothing was there any more');
});

t.test('a connection works by another GID than the first', async (t) => {
  ledger(
    t,
    '9.6.1.2',
    'A connection sends with the source GID its address vector names, and takes packets for that one alone',
  );
  const peer = new PacketPeer({ state: 'init' });
  const { fixture, qp } = peer;
  setGid(fixture, 1, 7, OTHER);
  const connection = {
    reliable: true,
    port: 1,
    dlid: fixture.lidOf(2),
    remoteQpn: 0xabcde,
    pathMtu: 1,
    receivePsn: 500,
  };
  qp.toConnectedReceive({ ...connection, globalRoute: PEER, sourceGidIndex: 7 });
  qp.toConnectedSend(connection);
  fixture.postReceive(qp, 8);
  qp.post({ inline: Uint8Array.of(1) });
  const sent = peer.takeOne();
  t.same([sent.sgid, sent.dgid].map((gid) => [...gid]), [[...OTHER], [...PEER]]); // biome-ignore format: short
  peer.request(BthOpcode.RC_SEND_ONLY, { psn: 500, hasGrh: 1, sgid: PEER, dgid: gidOf(fixture, 1, 0) });
  t.same(peer.takeAnswers(), [], 'for the first GID of the port');
  peer.request(BthOpcode.RC_SEND_ONLY, { psn: 500, hasGrh: 1, sgid: PEER, dgid: OTHER });
  const answer = peer.takeOne();
  t.same([...answer.sgid], [...OTHER]);
});

t.test('a datagram arrives by another GID than the first', async (t) => {
  ledger(t, '9.6.1.2', 'A datagram is sent with the source GID its address handle names');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  setGid(fixture, 1, 9, OTHER);
  setGid(fixture, 2, 3, PEER);
  const vector = { port: 1, dlid: fixture.lidOf(2), pd: fixture.pd, globalRoute: 1, sourceGidIndex: 9 };
  const addressHandle = fixture.driver.addressHandles.add(vector, PEER);
  const buffer = fixture.postReceive(receiver, GRH + 8);
  sender.post(to({ addressHandle, inline: Uint8Array.of(1) }));
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  receiver.parts.receiveCq.take();
  t.same(buffer.bytes.slice(8, GRH), Uint8Array.of(...OTHER, ...PEER));
  setGid(fixture, 1, 9, EMPTY);
  sender.post(to({ addressHandle, inline: Uint8Array.of(1) }));
  const refused = { status: CompletionStatus.LOCAL_QP_OPERATION_ERROR, vendorError: FaultKind.ADDRESS_HANDLE };
  t.match(sender.parts.sendCq.take(), refused, 'the entry is empty now');
  t.equal(sender.query().state, QpState.SQE);
  fixture.finish();
});

t.test('a datagram for a GID that the port does not have is dropped', async (t) => {
  ledger(t, '9.6.1.2', 'A global datagram is dropped silently unless it is for a GID of the port');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  setGid(fixture, 2, ENTRIES - 1, OTHER);
  const own = gidOf(fixture, 2, 0);
  const { receiver: packets } = fixture.machine.device.engine;
  let dropped = 0;
  for (const [gid, isOwn] of [
    [own, true],
    [OTHER, true],
    [PEER, false],
    [gidOf(fixture, 1, 0), false],
    [EMPTY, false],
  ] as const) {
    const vector = { port: 1, dlid: fixture.lidOf(2), pd: fixture.pd, globalRoute: 1 };
    const addressHandle = fixture.driver.addressHandles.add(vector, gid);
    fixture.postReceive(receiver, GRH);
    sender.post(to({ addressHandle }));
    sender.parts.sendCq.take();
    fixture.settle();
    if (!isOwn) dropped++;
    t.equal(receiver.parts.receiveCq.drain().length, Number(isOwn), [...gid].join(' '));
    t.equal(packets.wrongGid, dropped);
  }
  fixture.finish();
});

t.test('address vectors that name an unused entry or another port are refused', async (t) => {
  const { fixture, qp } = new PacketPeer({ state: 'init' });
  const path = { reliable: true, port: 1, dlid: 2, remoteQpn: 5 };
  const blamed = `${COMMAND_HEADER_BYTES + QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET}`;
  for (const bad of [
    { globalRoute: PEER, sourceGidIndex: 1 },
    { globalRoute: PEER, sourceGidIndex: ENTRIES },
    { port: 2 },
  ]) {
    t.throws(() => qp.toConnectedReceive({ ...path, ...bad }), new RegExp(`BAD_FIELD.*${blamed}`), JSON.stringify(bad));
    t.equal(qp.query().state, QpState.INIT);
  }
  qp.toConnectedReceive({ ...path, sourceGidIndex: 255 });
  t.equal(qp.query().state, QpState.RTR, 'without a global route the entry does not count');
  fixture.finish();
});

t.test('a shorter table has no entries behind its end', async (t) => {
  const port = new Port(1, portGuid(parseGuid(GUID), 1), 7, 4, 1, 8);
  port.gids.set(ONE, 7 * 16);
  const used = Array.from({ length: 256 }, (_, index) => index).filter((index) => port.hasGid(index));
  t.same(used, [0, 7]);
  t.ok(port.ownsGid(ONE, 0), 'the last entry');
  t.notOk(port.ownsGid(EMPTY, 0), 'entries that are not used');
});
