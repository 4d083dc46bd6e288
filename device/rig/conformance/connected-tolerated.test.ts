// SPDX-License-Identifier: Apache-2.0
/**
 * Packets with fields that requester and responder do not check, each for a reason that
 * docs/COMPLIANCE.md gives ("Checks that are not made"): the effect of such a packet instead.
 */
import t from 'tap';
import { BTH_SIZE } from '../../../protocol/infiniband/gen/bth.gen.ts';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { sealPacket } from '../../../protocol/infiniband/packet-builder.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { CREDITS_UNLIMITED } from '../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, QpState, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { type Damage, PacketPeer } from '../fixtures/packet-peer.ts';

const LRH_BYTES = 8;
const GRH_BYTES = 40;
const CRC_BYTES = 6;
const MTU = 256;
const remote = { address: 0x10_0000_0000, rkey: 0x77 };
const { SUCCESS, REMOTE_OPERATION_ERROR } = CompletionStatus;
const statuses = (peer: PacketPeer): number[] => peer.qp.parts.sendCq.drain().map(({ status }) => status);

/** Changes a header of a local packet and recomputes both CRCs. */
function header(change: (packet: DataView, bth: number) => void): Damage {
  return (packet) => {
    change(packet, LRH_BYTES);
    sealPacket(packet, 0, 0, packet.byteLength - CRC_BYTES);
    return packet.byteLength;
  };
}

/** A READ of three packets; the peer has taken its request. */
function reading(): PacketPeer {
  const peer = new PacketPeer();
  const local = peer.fixture.createBuffer(3 * MTU);
  peer.qp.post({ opcode: SendOpcode.RDMA_READ, remote, sges: [peer.fixture.sge(local)] });
  peer.take();
  return peer;
}

t.test('a duplicate READ or atomic reaches what its request reached, whatever it names', async (t) => {
  ledger(
    t,
    '9.7.5.1',
    'The answer to a duplicate READ or atomic is that of its request, whatever address, key or length it names',
  );
  const peer = new PacketPeer();
  const [one, two] = [
    peer.remoteBuffer(new Uint8Array(2 * MTU).fill(1)),
    peer.remoteBuffer(new Uint8Array(2 * MTU).fill(2)),
  ];
  peer.request(BthOpcode.RC_RDMA_READ_REQUEST, peer.target(one));
  peer.request(BthOpcode.RC_FETCH_ADD, { ...peer.target(one, 8), psn: 502, swapOrAddLow: 1 });
  peer.take();
  for (const fields of [peer.target(two), { rKey: 0xbad }, { ...peer.target(one), dmaLength: 0x7fff_ffff }]) {
    const answers = peer.request(BthOpcode.RC_RDMA_READ_REQUEST, { ...fields, psn: 500 }).take();
    t.same(
      answers.map(({ psn }) => psn),
      [500, 501],
    );
    t.ok(answers[1]?.payload.every((byte) => byte === 1));
    const [result] = peer.request(BthOpcode.RC_FETCH_ADD, { ...fields, psn: 502, swapOrAddLow: 9 }).take();
    t.match(result, { name: 'ATOMIC_ACKNOWLEDGE', psn: 502, originalLow: 0x01010101 });
  }
  t.equal(one.bytes[0], 2, 'executed once');
  t.ok(two.bytes.every((byte) => byte === 2));
  t.equal(peer.qp.query().state, QpState.RTS);
});

t.test('an ACK between the responses of a READ is an implied NAK', async (t) => {
  ledger(t, '9.7.5.1.3', 'An ACK with the PSN of a response that is missing is an implied NAK, also within a READ');
  for (const received of [0, 1]) {
    const peer = reading();
    if (received > 0) peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_FIRST, 0, {}, new Uint8Array(MTU));
    peer.acknowledge(1);
    t.same(peer.takeRequests(), [`RDMA_READ_REQUEST ${received}`]);
    t.same(statuses(peer), []);
  }
});

t.test('an RNR NAK has any request wait', async (t) => {
  ledger(t, '9.7.5.2.8', 'An RNR NAK has any request wait, also one that needs no receive entry');
  for (const opcode of [SendOpcode.RDMA_READ, SendOpcode.RDMA_WRITE, SendOpcode.FETCH_ADD]) {
    const peer = new PacketPeer();
    const sges = [peer.fixture.sge(peer.fixture.createBuffer(8))];
    peer.qp.post({ opcode, remote, sges, ...(opcode === SendOpcode.FETCH_ADD ? { atomic: { swapOrAdd: 1n } } : {}) });
    const [request] = peer.takeRequests();
    peer.receiverNotReady(0, 1);
    t.same(peer.takeRequests(), []);
    t.same(peer.wait(20_000).takeRequests(), [request]);
  }
});

t.test('reserved codes of an AETH', async (t) => {
  ledger(t, '9.7.6', 'A NAK with a reserved code ends its request with a remote operational error');
  ledger(t, '9.7.6', 'An acknowledgement with a reserved syndrome is dropped');
  for (let code = NakCode.INVALID_RD_REQUEST; code < 32; code++) {
    const peer = reading();
    peer.nak(0, code);
    t.same(statuses(peer), [REMOTE_OPERATION_ERROR], `code ${code}`);
  }
  const peer = reading();
  peer.respond(BthOpcode.RC_ACKNOWLEDGE, 0, { syndromeKind: 2 });
  t.same([statuses(peer), peer.takeRequests()], [[], []]);
});

t.test('the top bit of a syndrome', async (t) => {
  ledger(t, '9.7.6', 'The top bit of a syndrome, which is reserved, is ignored');
  const topBit = header((packet, bth) => packet.setUint8(bth + BTH_SIZE, packet.getUint8(bth + BTH_SIZE) | 0x80));
  for (const [syndromeKind, syndromeValue, status] of [
    [AethKind.ACK, CREDITS_UNLIMITED, SUCCESS],
    [AethKind.NAK, NakCode.REMOTE_OPERATIONAL_ERROR, REMOTE_OPERATION_ERROR],
  ] as const) {
    const peer = new PacketPeer();
    peer.qp.post({ inline: Uint8Array.of(1) });
    peer.take();
    peer.put(BthOpcode.RC_ACKNOWLEDGE, { psn: peer.firstPsn, syndromeKind, syndromeValue }, undefined, topBit);
    peer.settle();
    t.same(statuses(peer), [status]);
  }
});

t.test('congestion, migration and reserved bits of the BTH', async (t) => {
  ledger(
    t,
    '9.2',
    'FECN, BECN, the migration bit and reserved bits of a packet change nothing, and no answer has them',
  );
  const reserved = header((packet, bth) => {
    packet.setUint8(bth + 4, packet.getUint8(bth + 4) | 0x3f);
    packet.setUint8(bth + 8, packet.getUint8(bth + 8) | 0x7f);
  });
  for (const bits of [{ fecn: 1 }, { becn: 1 }, { fecn: 1, becn: 1 }, { migration: 0 }]) {
    const peer = new PacketPeer();
    peer.fixture.postReceive(peer.qp, 8);
    peer.put(BthOpcode.RC_SEND_ONLY, { ...bits, ackRequest: 1 }, Uint8Array.of(1, 2, 3, 4), reserved);
    const answer = peer.settle().takeOne();
    t.match(answer, { syndromeKind: AethKind.ACK, psn: 500, fecn: 0, becn: 0, migration: 1 });
    t.same([answer.bytes[LRH_BYTES + 4], answer.bytes[LRH_BYTES + 8]], [0, 0], 'reserved bits');
    t.equal(peer.qp.parts.receiveCq.take().status, SUCCESS);
    peer.qp.post({ inline: Uint8Array.of(1) });
    peer.take();
    const acknowledge = { psn: peer.firstPsn, syndromeKind: AethKind.ACK, syndromeValue: CREDITS_UNLIMITED };
    peer.put(BthOpcode.RC_ACKNOWLEDGE, { ...acknowledge, ...bits }, undefined, reserved);
    peer.settle();
    t.same(statuses(peer), [SUCCESS]);
  }
});

t.test('bits of the BTH that carry no request', async (t) => {
  ledger(t, '9.2', 'AckReq and the solicited event bit of a response mean nothing');
  const peer = new PacketPeer();
  peer.qp.post({ inline: Uint8Array.of(1) });
  peer.take();
  peer.acknowledge(0, { ackRequest: 1, solicited: 1 });
  t.same([statuses(peer), peer.takeAnswers()], [[SUCCESS], []]);
});

t.test('an MSN moves credits only', async (t) => {
  ledger(t, '9.7.7.1', 'The MSN of an acknowledgement moves credits only: the PSN says what is acknowledged');
  for (const msn of [0, 1, 77, 0xffffff]) {
    const peer = new PacketPeer();
    for (let index = 0; index < 3; index++) peer.qp.post({ inline: Uint8Array.of(index) });
    peer.take();
    peer.acknowledge(1, { msn });
    t.same(statuses(peer), [SUCCESS, SUCCESS], `MSN ${msn}`);
  }
});

t.test('a UC packet that comes twice', async (t) => {
  ledger(
    t,
    '9.8.2',
    'A UC message of one packet that comes twice is delivered twice; a longer one only if all of it does',
  );
  const peer = new PacketPeer({ serviceType: ServiceType.UC });
  for (let index = 0; index < 4; index++) peer.fixture.postReceive(peer.qp, 2 * MTU);
  const send = (opcode: BthOpcode, psn: number, fields: Partial<PacketFields> = {}): void =>
    void peer.request(opcode, { psn, ...fields }, new Uint8Array(opcode === BthOpcode.UC_SEND_FIRST ? MTU : 4));
  for (const psn of [500, 500]) send(BthOpcode.UC_SEND_ONLY, psn);
  send(BthOpcode.UC_SEND_FIRST, 501);
  send(BthOpcode.UC_SEND_LAST, 502);
  send(BthOpcode.UC_SEND_LAST, 502);
  t.same(
    peer.qp.parts.receiveCq.drain().map(({ byteLength }) => byteLength),
    [4, 4, MTU + 4],
  );
  t.same(peer.take(), []);
});

t.test('the service level of a request is not that of the connection', async (t) => {
  ledger(t, '9.6.1', 'The service level of a packet is not compared with that of the connection');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(BthOpcode.RC_SEND_ONLY, { serviceLevel: 5 });
  t.match(peer.takeOne(), { syndromeKind: AethKind.ACK, serviceLevel: 0 });
  t.match(peer.qp.parts.receiveCq.take(), { status: SUCCESS, serviceLevel: 5 });
});

t.test('how a packet was routed is not compared with the route of the connection', async (t) => {
  ledger(
    t,
    '9.6.1',
    'Hop limit, traffic class and flow label of a packet are not compared with those of the connection',
  );
  const globalRoute = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);
  for (const route of [{ hopLimit: 0 }, { hopLimit: 255 }, { trafficClass: 0xff }, { flowLabel: 0xfffff }]) {
    const peer = new PacketPeer({ globalRoute });
    const dgid = peer.adapter.ports[0].gids.slice(0, 16);
    peer.fixture.postReceive(peer.qp, 8);
    peer.request(BthOpcode.RC_SEND_ONLY, { hasGrh: 1, sgid: globalRoute, dgid, ...route });
    t.match(peer.takeOne(), { syndromeKind: AethKind.ACK, hasGrh: 1, trafficClass: 0, flowLabel: 0 });
    t.equal(peer.qp.parts.receiveCq.take().status, SUCCESS);
  }
});

t.test('a datagram that comes twice', async (t) => {
  ledger(t, '9.8.2', 'A datagram that comes twice is delivered twice');
  const fixture = new AdapterFixture({
    adapter: { portLink: { kind: 'faulty', seed: 1, delayNs: 0, faults: { duplicate: 1 } } },
  });
  const { sender, receiver, to } = fixture.createPair();
  for (let count = 0; count < 4; count++) fixture.postReceive(receiver, 64);
  sender.post(to({ inline: Uint8Array.of(1, 2, 3) }));
  fixture.settle();
  while (fixture.machine.clock.jumpToAlarm()) fixture.settle();
  t.match(receiver.parts.receiveCq.drain(), [
    { status: SUCCESS, byteLength: GRH_BYTES + 3, queueSequence: 0 },
    { status: SUCCESS, byteLength: GRH_BYTES + 3, queueSequence: 1 },
  ]);
});
