// SPDX-License-Identifier: Apache-2.0
/**
 * Packets with headers of software at a port alone (IBTA 7.2.7, 7.6.3, 10.5.2): when they leave, by
 * which ring, and that they arrive with all headers and right CRCs.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { setLrhSlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { BthOpcode, PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { ICRC_SIZE, newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { resealVcrc } from '../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields, type PacketFields, readPacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { newPort } from '../../rig/fixtures/port-pair.ts';
import { composeDatagram } from '../../rig/fixtures/send-context-fixture.ts';
import type { PacketRing } from './packet-ring.ts';
import { RawEgress, RawPacket } from './raw-packet.ts';
import { MANAGEMENT_VL } from './transmit-queues.ts';

const RING_PACKETS = 2;
const OWN_LID = 1;
const OTHER_LID = 9;
const MULTICAST_LID = 0xc001;
const PAYLOAD = Uint8Array.from({ length: 256 }, (_, index) => index ^ 0x5a);

class Fixture {
  readonly port = newPort(OWN_LID, 2, RING_PACKETS);
  readonly raw = new RawPacket();

  constructor(state: PortState) {
    this.port.state = state;
    this.port.transmitQueues.mapServiceLevel(3, 1);
  }

  /** Sends a datagram with these fields; software leaves the CRCs to the port. */
  send(virtualLane: number, given: Partial<PacketFields> = {}): RawEgress {
    const packet = composeDatagram(PAYLOAD, { slid: OWN_LID, dlid: OTHER_LID, virtualLane, ...given });
    this.raw.bytes.set(packet);
    assert.ok(this.raw.parse(packet.length + ICRC_SIZE));
    return this.raw.send(this.port, virtualLane);
  }
}

/** Takes the oldest packet of a ring; its fields, when all checks pass. */
function arrive(ring: PacketRing): PacketFields {
  const { view, readOffset, readLength } = ring;
  const parsed = newParsedPacket();
  resealVcrc(view, readOffset, readOffset + readLength - VCRC_SIZE);
  assert.equal(parsePacket(view, readOffset, readLength, parsed, PacketCheck.ALL), PacketError.NONE);
  assert.deepEqual(ring.bytes.slice(parsed.payloadOffset, parsed.payloadOffset + PAYLOAD.length), PAYLOAD);
  const fields = newPacketFields();
  readPacketFields(view, parsed, fields);
  ring.shift();
  return fields;
}

t.test('subnet management packets leave by VL15 as soon as the link is up', async (t) => {
  const down = new Fixture(PortState.DOWN);
  t.equal(down.send(MANAGEMENT_VL, { destQpn: 0 }), RawEgress.DISCARDED);
  const fixture = new Fixture(PortState.INITIALIZE);
  const ring = fixture.port.transmitQueues.vl15;
  let sent = 0;
  while (!ring.full) {
    t.equal(fixture.send(MANAGEMENT_VL, { destQpn: 0, psn: sent++ }), RawEgress.AT_PORT);
    t.equal(fixture.raw.ring, ring);
  }
  t.equal(fixture.send(MANAGEMENT_VL), RawEgress.BLOCKED, 'no room');
  t.equal(ring.count, sent);
  for (let count = 0; count < sent; count++) {
    const { virtualLane, psn, opcode } = arrive(ring);
    t.same([virtualLane, psn, opcode], [MANAGEMENT_VL, count, BthOpcode.UD_SEND_ONLY]);
  }
});

t.test('data packets need an active port, and take the lane of their service level', async (t) => {
  t.equal(new Fixture(PortState.INITIALIZE).send(0), RawEgress.DISCARDED);
  const fixture = new Fixture(PortState.ACTIVE);
  t.equal(fixture.send(0, { serviceLevel: 3, hasGrh: 1, hopLimit: 64, flowLabel: 0x12345 }), RawEgress.AT_PORT);
  const fields = arrive(fixture.port.transmitQueues.rings[1]);
  t.match(fields, { virtualLane: 1, serviceLevel: 3, hasGrh: 1, hopLimit: 64, flowLabel: 0x12345 });
  for (let count = 0; count < RING_PACKETS; count++) t.equal(fixture.send(0), RawEgress.AT_PORT);
  t.equal(fixture.send(0), RawEgress.BLOCKED);
  t.equal(fixture.send(0, { serviceLevel: 3 }), RawEgress.AT_PORT, 'the other lane has room');
});

t.test('packets to the port itself and to groups loop back', async (t) => {
  const fixture = new Fixture(PortState.ACTIVE);
  const { loopback, transmitQueues } = fixture.port;
  t.equal(fixture.send(0, { dlid: OWN_LID }), RawEgress.AT_PORT);
  t.equal(arrive(loopback).dlid, OWN_LID);
  t.equal(transmitQueues.rings[0].count, 0);
  t.equal(fixture.send(0, { dlid: MULTICAST_LID, hasGrh: 1 }), RawEgress.AT_PORT);
  t.equal(arrive(loopback).dlid, MULTICAST_LID);
  t.equal(arrive(transmitQueues.rings[0]).dlid, MULTICAST_LID);
});

t.test('headers may change after they were read; bytes that are no packet are refused', async (t) => {
  const fixture = new Fixture(PortState.ACTIVE);
  const packet = composeDatagram(PAYLOAD, { slid: OWN_LID, dlid: OTHER_LID });
  fixture.raw.bytes.set(packet);
  t.ok(fixture.raw.parse(packet.length + ICRC_SIZE));
  setLrhSlid(fixture.raw.view, 0, 0xffff);
  t.equal(fixture.raw.send(fixture.port, 0), RawEgress.AT_PORT);
  t.equal(arrive(fixture.port.transmitQueues.rings[0]).slid, 0xffff);
  t.notOk(fixture.raw.parse(packet.length + ICRC_SIZE + 4), 'a length that the LRH contradicts');
  t.not(fixture.raw.headers.error, PacketError.NONE);
});
