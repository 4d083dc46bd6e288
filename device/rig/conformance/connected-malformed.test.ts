// SPDX-License-Identifier: Apache-2.0
/**
 * Malformed packets are dropped and counted by their cause; the connection works on (IBTA 7.5, 7.7,
 * 9.2, 9.6.1).
 */
import t from 'tap';
import { setBthOpcode, setBthPadCount, setBthTransportVersion } from '../../../protocol/infiniband/gen/bth.gen.ts';
import { setGrhIpVersion, setGrhNextHeader, setGrhPayloadLength } from '../../../protocol/infiniband/gen/grh.gen.ts';
import {
  setLrhLinkNextHeader,
  setLrhLinkVersion,
  setLrhPacketLength,
} from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { BthOpcode, PacketError, packetErrorName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { resealVcrc, sealPacket } from '../../../protocol/infiniband/packet-builder.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { type Damage, PacketPeer } from '../fixtures/packet-peer.ts';

const LRH_BYTES = 8;
const GRH_BYTES = 40;
const VCRC_BYTES = 2;
const ICRC_BYTES = 4;
const CRC_BYTES = ICRC_BYTES + VCRC_BYTES;
const { RC_SEND_ONLY, RC_ACKNOWLEDGE, RC_RDMA_WRITE_ONLY } = BthOpcode;

/** Changes a header and recomputes both CRCs, so that only the header is wrong. */
function header(change: (packet: DataView, bth: number) => void, hasGrh = 0): Damage {
  return (packet) => {
    change(packet, LRH_BYTES + hasGrh * GRH_BYTES);
    sealPacket(packet, 0, hasGrh, packet.byteLength - CRC_BYTES);
    return packet.byteLength;
  };
}

/** Inverts one bit `back` bytes before the end, or `at` bytes from the start. */
const flip =
  (position: number): Damage =>
  (packet) => {
    const at = position < 0 ? packet.byteLength + position : position;
    packet.setUint8(at, packet.getUint8(at) ^ 1);
    return packet.byteLength;
  };

const cases: [string, PacketError, number, Damage, number?][] = [
  ['an unknown link version', PacketError.BAD_LINK_VERSION, RC_SEND_ONLY, header((p) => setLrhLinkVersion(p, 0, 1))],
  ['a raw packet', PacketError.BAD_LINK_NEXT_HEADER, RC_SEND_ONLY, header((p) => setLrhLinkNextHeader(p, 0, 1))],
  [
    'an LRH length that is too small',
    PacketError.BAD_PACKET_LENGTH,
    RC_SEND_ONLY,
    header((p) => setLrhPacketLength(p, 0, 7)),
  ],
  [
    'an LRH length that is too large',
    PacketError.BAD_PACKET_LENGTH,
    RC_SEND_ONLY,
    header((p) => setLrhPacketLength(p, 0, 0x7ff)),
  ],
  ['a GRH that is not there', PacketError.TRUNCATED, RC_ACKNOWLEDGE, header((p) => setLrhLinkNextHeader(p, 0, 3))],
  [
    'a wrong IP version',
    PacketError.BAD_IP_VERSION,
    RC_SEND_ONLY,
    header((p) => setGrhIpVersion(p, LRH_BYTES, 4), 1),
    1,
  ],
  [
    'a GRH followed by something else',
    PacketError.BAD_NEXT_HEADER,
    RC_SEND_ONLY,
    header((p) => setGrhNextHeader(p, LRH_BYTES, 17), 1),
    1,
  ],
  [
    'a wrong GRH length',
    PacketError.BAD_PAYLOAD_LENGTH,
    RC_SEND_ONLY,
    header((p) => setGrhPayloadLength(p, LRH_BYTES, 1), 1),
    1,
  ],
  [
    'an unknown transport version',
    PacketError.BAD_TRANSPORT_VERSION,
    RC_SEND_ONLY,
    header((p, bth) => setBthTransportVersion(p, bth, 2)),
  ],
  ['a reserved opcode', PacketError.UNKNOWN_OPCODE, RC_SEND_ONLY, header((p, bth) => setBthOpcode(p, bth, 0x1f))],
  [
    'an opcode whose headers exceed the packet',
    PacketError.MISSING_HEADER,
    RC_ACKNOWLEDGE,
    header((p, bth) => setBthOpcode(p, bth, 0x13)),
  ],
  ['padding without payload', PacketError.BAD_PAD, RC_ACKNOWLEDGE, header((p, bth) => setBthPadCount(p, bth, 1))],
  [
    'payload with an opcode that has none',
    PacketError.UNEXPECTED_PAYLOAD,
    RC_SEND_ONLY,
    header((p, bth) => setBthOpcode(p, bth, RC_ACKNOWLEDGE)),
  ],
  ['a byte of payload changed', PacketError.BAD_ICRC, RC_SEND_ONLY, damageCovered],
  ['a wrong ICRC', PacketError.BAD_ICRC, RC_SEND_ONLY, damageIcrc],
  ['a wrong VCRC', PacketError.BAD_VCRC, RC_SEND_ONLY, flip(-1)],
  ['a packet cut off behind its LRH', PacketError.TRUNCATED, RC_SEND_ONLY, () => LRH_BYTES],
  ['a packet of no bytes', PacketError.TRUNCATED, RC_SEND_ONLY, () => 0],
];

for (const [name, error, opcode, damage, hasGrh = 0] of cases) {
  t.test(`a packet is dropped and counted: ${name}`, async (t) => {
    ledger(t, '9.6.1', `A malformed packet is dropped silently and counted by its cause: ${name}`);
    const peer = new PacketPeer();
    const { engine, ports } = peer.adapter;
    const port = ports[0];
    const buffer = peer.fixture.postReceive(peer.qp, 64);
    const before = port.receiveDrops;
    peer.put(
      opcode,
      { hasGrh, ackRequest: 1 },
      opcode === RC_SEND_ONLY ? new Uint8Array(64).fill(5) : undefined,
      damage,
    );
    peer.settle();
    const counts = [...engine.receiver.malformed].flatMap((count, kind) =>
      count > 0 ? [`${packetErrorName(kind)} ${count}`] : [],
    );
    t.same(counts, [`${packetErrorName(error)} 1`]);
    t.equal(port.receiveDrops, before + 1);
    t.same(peer.take(), [], 'no answer');
    t.ok(buffer.bytes.every((byte) => byte === 0));
    t.same(peer.events(), []);
    peer.request(RC_SEND_ONLY, {}, new Uint8Array(64).fill(6));
    t.same(peer.takeAnswers(), ['ACK 500'], 'the connection works on');
    t.same(peer.fixture.allFaults(), {}, 'no function is charged');
    peer.fixture.finish();
  });
}

/** Damage that only the ICRC covers: the VCRC is recomputed, as by a switch. */
function damageCovered(packet: DataView): number {
  return sealVcrc(packet, packet.byteLength - CRC_BYTES - 1);
}

function damageIcrc(packet: DataView): number {
  return sealVcrc(packet, packet.byteLength - VCRC_BYTES - 1);
}

function sealVcrc(packet: DataView, at: number): number {
  packet.setUint8(at, packet.getUint8(at) ^ 1);
  resealVcrc(packet, 0, packet.byteLength - VCRC_BYTES);
  return packet.byteLength;
}

t.test('the first refusal is kept, and all are counted', async (t) => {
  ledger(t, '9.9.3', 'Of several refusals the first is kept with its QP, and all are counted');
  const peer = new PacketPeer();
  peer.request(RC_RDMA_WRITE_ONLY, { rKey: 0x55, dmaLength: 4 }, new Uint8Array(4));
  const { fixture } = peer;
  t.equal(fixture.faults(FaultKind.KEY_INVALID), 1);
  const first = [fixture.read(CSR.FIRST_FAULT_KIND), fixture.read(CSR.FIRST_FAULT_OBJECT)];
  t.same(first, [FaultKind.KEY_INVALID, peer.qp.qpn]);
  peer.qp.toReset();
  peer.qp.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: 5 });
  peer.request(RC_SEND_ONLY, { psn: 0, pKey: 0x8123 });
  t.equal(fixture.faults(FaultKind.PKEY_VIOLATION), 1);
  t.same([fixture.read(CSR.FIRST_FAULT_KIND), fixture.read(CSR.FIRST_FAULT_OBJECT)], first);
});
