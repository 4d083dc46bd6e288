// SPDX-License-Identifier: Apache-2.0
/** Packets that carry management datagrams: both forms, and what is no datagram. */

import t from 'tap';
import { computeIcrc, getIcrc } from '../../../protocol/infiniband/icrc.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import {
  answerAddress,
  generalAddress,
  type MadAddress,
  newMadAddress,
  readMadPacket,
  subnetAddress,
  writeMadPacket,
} from './mad-packet.ts';

const OFFSET = 64;
/** LRH, BTH, DETH, datagram, ICRC, VCRC. */
const PACKET_BYTES = 8 + 12 + 8 + MAD_BYTES + 4 + 2;

const mad = Uint8Array.from({ length: MAD_BYTES }, (_, index) => index * 7);

function write(address: MadAddress, virtualLane?: number): { view: DataView; length: number } {
  const view = new DataView(new ArrayBuffer(1024));
  return { view, length: writeMadPacket(view, OFFSET, address, mad, virtualLane) };
}

t.test('a datagram comes back from its packet, by QP0 and by QP1', async (t) => {
  ledger(t, '13.4.2', 'A management datagram is the payload of 256 bytes of one unreliable datagram');
  const addresses = [newMadAddress(), subnetAddress(3, 0xbfff, 5), generalAddress(1, 2, 0x8001, 3)];
  for (const address of addresses) {
    const { view, length } = write(address);
    t.equal(length, PACKET_BYTES);
    const parsed = newParsedPacket();
    t.equal(parsePacket(view, OFFSET, length, parsed, PacketCheck.ALL), PacketError.NONE, 'both CRCs are right');
    const found = newMadAddress();
    const bytes = new Uint8Array(MAD_BYTES);
    t.ok(readMadPacket(view, OFFSET, length, found, bytes));
    t.same(found, address);
    t.same(bytes, mad);
  }
});

t.test('subnet management uses VL15, queue pair 0, queue key 0 and the default partition', async (t) => {
  ledger(t, '13.5.1', 'Subnet management packets use VL15 and queue pair 0');
  const { view, length } = write(newMadAddress());
  const parsed = newParsedPacket();
  parsePacket(view, OFFSET, length, parsed);
  t.equal(parsed.virtualLane, 15);
  t.equal(parsed.destQpn, 0);
  t.equal(parsed.pKey, 0xffff);
  t.equal(parsed.dlid, 0xffff);
  t.equal(parsed.slid, 0xffff);
  t.equal(getIcrc(view, parsed.icrcOffset), computeIcrc(view, OFFSET, false, parsed.icrcOffset));
});

t.test('a general datagram takes the lane of its ring', async (t) => {
  const { view, length } = write(generalAddress(1, 2), 3);
  const parsed = newParsedPacket();
  t.equal(parsePacket(view, OFFSET, length, parsed), PacketError.NONE);
  t.equal(parsed.virtualLane, 3);
});

t.test('what is no datagram is refused, and changes nothing', async (t) => {
  const cases: readonly [string, (view: DataView) => void, number][] = [
    ['queue pair 1 on VL15', (view) => view.setUint8(OFFSET + 15, 1), PACKET_BYTES],
    ['queue pair 0 on a data lane', (view) => view.setUint8(OFFSET, 0x00), PACKET_BYTES],
    ['a raw packet', (view) => view.setUint8(OFFSET + 1, 0), PACKET_BYTES],
    ['a send of a connection', (view) => view.setUint8(OFFSET + 8, 4), PACKET_BYTES],
    ['a packet cut short', () => undefined, PACKET_BYTES - 4],
    ['255 bytes', (view) => view.setUint8(OFFSET + 9, view.getUint8(OFFSET + 9) | 0x10), PACKET_BYTES],
  ];
  for (const [name, change, length] of cases) {
    const { view } = write(newMadAddress());
    change(view);
    const found = generalAddress(7, 8);
    const bytes = new Uint8Array(MAD_BYTES);
    t.notOk(readMadPacket(view, OFFSET, length, found, bytes), name);
    t.same(found, generalAddress(7, 8));
    t.ok(bytes.every((byte) => byte === 0));
  }
});

t.test('a response goes back to where its request came from', async (t) => {
  ledger(t, '13.5.4', 'A response goes to the source LID and queue pair of its request');
  const request: MadAddress = { ...generalAddress(4, 9, 0x8003, 2), sourceQpn: 77, qKey: 0x80010000 };
  const response = answerAddress(request);
  t.same(response, { ...request, slid: 9, dlid: 4, sourceQpn: 1, destQpn: 77, qKey: 0x80010000 });
  t.equal(answerAddress(subnetAddress(4, 9)).qKey, 0);
});
