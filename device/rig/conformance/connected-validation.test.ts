// SPDX-License-Identifier: Apache-2.0
/**
 * Packets that do not belong to the QP they name are dropped and counted: addresses, partition,
 * service, GRH (IBTA 9.6.1).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PKEY_FULL_MEMBER } from '../../../protocol/infiniband/keys.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const { RC_SEND_ONLY, UC_SEND_ONLY, UD_SEND_ONLY, XRC_SEND_ONLY, RC_ACKNOWLEDGE } = BthOpcode;
const OWN_GID = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

/** True if a request and a response with these fields are dropped, and valid ones accepted. */
function isDropped(peer: PacketPeer, fields: Partial<PacketFields>, opcode: number = RC_SEND_ONLY): boolean {
  peer.fixture.postReceive(peer.qp, 64);
  peer.qp.post({ inline: Uint8Array.of(1) });
  peer.take();
  const drops = peer.adapter.ports[0].receiveDrops;
  peer.request(opcode, { psn: 500, ...fields });
  peer.respond(RC_ACKNOWLEDGE, 0, fields);
  const silent =
    peer.take().length === 0 &&
    !peer.qp.parts.receiveCq.ready &&
    !peer.qp.parts.sendCq.ready &&
    peer.events().length === 0;
  return silent && peer.adapter.ports[0].receiveDrops === drops + 2;
}

/** True if the connection still works. */
function stillWorks(peer: PacketPeer): boolean {
  peer.request(RC_SEND_ONLY, { psn: 500 }).acknowledge(0);
  return peer.qp.parts.receiveCq.drain().length === 1 && peer.qp.parts.sendCq.drain().length === 1;
}

const cases: [string, string, Partial<PacketFields>][] = [
  ['9.6.1.5', 'from another LID than the peer of the connection', { slid: 77 }],
  ['9.6.1.5', 'for another LID than the port has', { dlid: 78 }],
  ['9.6.1.1', 'with the P_Key of another partition', { pKey: 0x8123 }],
  ['9.6.1.1', 'with the invalid P_Key', { pKey: PKEY_FULL_MEMBER }],
  ['9.6.1.1', 'for a QP that does not exist', { destQpn: 0xffff0 }],
  ['9.6.1.2', 'with a GRH on a connection without', { hasGrh: 1 }],
];

for (const [section, name, fields] of cases) {
  t.test(`a packet ${name} is dropped`, async (t) => {
    ledger(t, section, `A packet ${name} is dropped silently`);
    const peer = new PacketPeer();
    t.ok(isDropped(peer, fields));
    t.ok(stillWorks(peer));
  });
}

t.test('P_Key violations are counted', async (t) => {
  ledger(t, '9.6.1.1', 'P_Key violations are counted by the port');
  ledger(t, '10.9.3', 'A limited member of a partition communicates with a full member');
  const peer = new PacketPeer();
  isDropped(peer, { pKey: 0x8123 });
  t.equal(peer.adapter.ports[0].badPkeys, 2);
  t.equal(peer.fixture.faults(FaultKind.PKEY_VIOLATION), 2);
  t.equal(peer.fixture.read(CSR.FIRST_FAULT_KIND), FaultKind.PKEY_VIOLATION);
  t.equal(peer.fixture.read(CSR.FIRST_FAULT_OBJECT), peer.qp.qpn);
  t.equal(peer.fixture.read(CSR.FIRST_FAULT_ADDRESS), 0x8123);
  t.equal(peer.fixture.read(CSR.FIRST_FAULT_ADDRESS, 1), peer.fixture.lidOf(2), 'the sender');
  peer.request(RC_SEND_ONLY, { psn: 500, pKey: 0x7fff });
  t.same(peer.takeAnswers(), ['ACK 500']);
});

for (const [name, opcode] of [
  ['UC', UC_SEND_ONLY],
  ['UD', UD_SEND_ONLY],
  ['XRC', XRC_SEND_ONLY],
] as const) {
  t.test(`a ${name} packet for an RC QP is dropped`, async (t) => {
    ledger(t, '9.6.1.1', `A ${name} packet for an RC QP is dropped silently`);
    const peer = new PacketPeer();
    peer.fixture.postReceive(peer.qp, 64);
    peer.request(opcode, { psn: 500 });
    t.same(peer.take(), []);
    t.notOk(peer.qp.parts.receiveCq.ready);
    peer.request(RC_SEND_ONLY, { psn: 500 });
    t.same(peer.takeAnswers(), ['ACK 500']);
  });
}

t.test('an RC packet for a UC QP is dropped', async (t) => {
  ledger(t, '9.6.1.1', 'An RC packet for a UC QP is dropped silently');
  const peer = new PacketPeer({ serviceType: ServiceType.UC });
  peer.fixture.postReceive(peer.qp, 64);
  peer.request(RC_SEND_ONLY).request(RC_ACKNOWLEDGE);
  t.notOk(peer.qp.parts.receiveCq.ready);
  t.same(peer.take(), []);
});

t.test('a connection with a global route requires its GIDs', async (t) => {
  ledger(t, '9.6.1.2', 'A connection with a global route sends a GRH in requests and responses');
  ledger(t, '9.6.1.2', 'A packet without a GRH on such a connection is dropped silently');
  ledger(t, '9.6.1.2', 'A packet with other GIDs than those of the connection is dropped silently');
  const globalRoute = Uint8Array.of(...OWN_GID, 1, 2, 3, 4, 5, 6, 7, 8);
  const peer = new PacketPeer({ globalRoute });
  const own = peer.adapter.ports[0].gids.slice(0, 16);
  const good = { hasGrh: 1, sgid: globalRoute, dgid: own };
  t.ok(isDropped(peer, {}));
  t.ok(isDropped(new PacketPeer({ globalRoute }), { ...good, sgid: own }));
  t.ok(isDropped(new PacketPeer({ globalRoute }), { ...good, dgid: globalRoute }));
  const answer = peer.request(RC_SEND_ONLY, { psn: 500, ...good }).takeOne();
  t.match(answer, { psn: 500, hasGrh: 1 });
  t.same([...answer.dgid], [...globalRoute]);
  t.same([...answer.sgid], [...own]);
  t.equal(peer.qp.parts.receiveCq.poll()?.globalRoute, 1);
});

t.test('a packet longer than the MTU of the port is dropped', async (t) => {
  ledger(t, '7.8', 'A packet with more payload than the MTU of the port is dropped silently');
  const peer = new PacketPeer();
  peer.adapter.ports[0].activeMtuCode = 1;
  peer.fixture.postReceive(peer.qp, 1024);
  peer.request(RC_SEND_ONLY, {}, new Uint8Array(260));
  t.same(peer.take(), []);
  t.equal(peer.adapter.engine.receiver.tooLong, 1);
});
