// SPDX-License-Identifier: Apache-2.0
/**
 * The requester's reaction to read responses and atomic acknowledgements: in order, lost, late,
 * wrong (IBTA 9.7.5.1, 9.7.6).
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionOpcode,
  CompletionStatus,
  ManagementOpcode,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Buffer } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer, type PeerOptions } from '../fixtures/packet-peer.ts';

const MTU = 256;
const TIMEOUT_NS = 4096 * 2 ** 10;
const { RC_RDMA_READ_RESPONSE_FIRST: FIRST, RC_RDMA_READ_RESPONSE_MIDDLE: MIDDLE } = BthOpcode;
const { RC_RDMA_READ_RESPONSE_LAST: LAST, RC_RDMA_READ_RESPONSE_ONLY: ONLY, RC_ATOMIC_ACKNOWLEDGE } = BthOpcode;
const { SUCCESS, RETRY_EXCEEDED, BAD_RESPONSE_ERROR } = CompletionStatus;
const remote = { address: 0x10_0000_0000, rkey: 0x77 };

/** A posted READ of `packets` full packets and `rest` bytes; the peer has taken its request. */
function reading(packets: number, options: PeerOptions = {}, rest = 0): { peer: PacketPeer; local: Buffer } {
  const peer = new PacketPeer(options);
  const local = peer.fixture.createBuffer(packets * MTU + rest);
  peer.qp.post({ opcode: SendOpcode.RDMA_READ, remote, sges: [peer.fixture.sge(local)] });
  peer.take();
  return { peer, local };
}

const full = (byte: number): Uint8Array => new Uint8Array(MTU).fill(byte);
const statuses = (peer: PacketPeer): number[] => peer.qp.parts.sendCq.drain().map(({ status }) => status);

t.test('a READ completes with its last response', async (t) => {
  ledger(t, '9.7.6', 'A READ completes with its last response, and local memory holds its bytes in order');
  const { peer, local } = reading(2, {}, 7);
  peer.respond(FIRST, 0, {}, full(1)).respond(MIDDLE, 1, {}, full(2));
  t.same(statuses(peer), []);
  peer.respond(LAST, 2, {}, new Uint8Array(7).fill(3));
  t.match(peer.qp.parts.sendCq.poll(), { status: SUCCESS, opcode: CompletionOpcode.RDMA_READ, byteLength: 519 });
  t.same([local.bytes[0], local.bytes[MTU], local.bytes[2 * MTU], local.bytes[2 * MTU + 6]], [1, 2, 3, 3]);
});

t.test('a READ is repeated from a lost response on', async (t) => {
  ledger(t, '9.7.6', 'After a gap in read responses the requester repeats the READ from the missing PSN on');
  ledger(t, '9.4.4', 'The repeated READ has a later address and a shorter length');
  ledger(t, '9.7.6', 'The responses that follow a gap are dropped and do not count as further attempts');
  const { peer } = reading(6, { retryCount: 1 });
  peer.respond(FIRST, 0, {}, full(1));
  for (const psn of [2, 3, 4]) peer.respond(MIDDLE, psn, {}, full(9));
  peer.respond(LAST, 5, {}, full(9));
  const again = peer.takeOne();
  t.match(again, { name: 'RDMA_READ_REQUEST', psn: 101, address: remote.address + MTU, dmaLength: 5 * MTU });
  peer.respond(FIRST, 1, {}, full(2));
  for (const psn of [2, 3, 4]) peer.respond(MIDDLE, psn, {}, full(2));
  peer.respond(LAST, 5, {}, full(2));
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a READ is repeated when its first responses are lost', async (t) => {
  ledger(t, '9.7.6', 'A later response shows that the first one was lost');
  const { peer } = reading(2);
  peer.respond(LAST, 1, {}, full(2));
  t.match(peer.takeOne(), { psn: 100, dmaLength: 2 * MTU });
});

t.test('a READ is repeated after the timeout when its last response is lost', async (t) => {
  ledger(t, '9.7.6.1.3', 'A READ whose last response is lost is repeated after the timeout, only for the missing part');
  const { peer } = reading(3);
  peer.respond(FIRST, 0, {}, full(1)).respond(MIDDLE, 1, {}, full(1)).wait(TIMEOUT_NS);
  t.match(peer.takeOne(), { name: 'RDMA_READ_REQUEST', psn: 102, dmaLength: MTU });
  peer.respond(ONLY, 2, {}, full(1));
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a duplicate response is ignored', async (t) => {
  ledger(t, '9.7.6', 'A duplicate read response is ignored');
  const { peer, local } = reading(2);
  peer.respond(FIRST, 0, {}, full(1)).respond(FIRST, 0, {}, full(9)).respond(LAST, 1, {}, full(2));
  t.same(statuses(peer), [SUCCESS]);
  t.equal(local.bytes[0], 1);
});

t.test('an acknowledgement past a READ implies that its responses are lost', async (t) => {
  ledger(t, '9.7.6', 'An acknowledgement past a READ whose responses are missing is an implied NAK');
  ledger(t, '9.7.6', 'A READ never completes by an acknowledgement');
  const { peer } = reading(2);
  peer.qp.post({ inline: Uint8Array.of(1) });
  t.same(peer.takeRequests(), ['SEND_ONLY 2']);
  peer.acknowledge(2);
  t.same(statuses(peer), []);
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 0', 'SEND_ONLY 2'], 'both are sent again');
  peer.acknowledge(2);
  t.same(peer.takeRequests(), [], 'repeated once');
  peer.respond(FIRST, 0, {}, full(1)).respond(LAST, 1, {}, full(1)).acknowledge(2);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
});

t.test('a read response acknowledges earlier requests', async (t) => {
  ledger(t, '9.7.6', 'A read response acknowledges every request before its own');
  const peer = new PacketPeer();
  const local = peer.fixture.createBuffer(8);
  peer.qp.post({ inline: Uint8Array.of(1) });
  peer.qp.post({ opcode: SendOpcode.RDMA_READ, remote, sges: [peer.fixture.sge(local)] });
  peer.take();
  peer.respond(ONLY, 1, {}, new Uint8Array(8));
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
});

t.test('a complete READ is not repeated with the requests around it', async (t) => {
  ledger(t, '9.9.2', 'A READ with all its responses is not repeated with the requests around it');
  const { peer } = reading(1);
  peer.qp.post({ inline: Uint8Array.of(1) });
  peer.take();
  peer.respond(ONLY, 0, {}, full(1)).wait(TIMEOUT_NS);
  t.same(peer.takeRequests(), ['SEND_ONLY 1']);
});

for (const [name, opcode, length] of [
  ['ONLY where more is due', ONLY, MTU],
  ['FIRST that is too short', FIRST, MTU - 4],
  ['FIRST that is too long', FIRST, MTU + 4],
  ['LAST where more is due', LAST, MTU],
  ['MIDDLE where FIRST is due', MIDDLE, MTU],
  ['an atomic acknowledgement', RC_ATOMIC_ACKNOWLEDGE, 0],
] as const) {
  t.test(`a READ answered by ${name} fails`, async (t) => {
    ledger(t, '9.9.2', `A READ answered by ${name} ends with a bad response error`);
    const { peer, local } = reading(2);
    peer.respond(opcode, 0, {}, new Uint8Array(length).fill(5));
    t.same(statuses(peer), [BAD_RESPONSE_ERROR]);
    t.equal(peer.qp.query().state, QpState.ERR);
    t.ok(local.bytes.every((byte) => byte === 0));
    peer.fixture.finish();
  });
}

t.test('a second FIRST in the answer to a READ fails it, unless the rest was asked for', async (t) => {
  ledger(t, '9.9.2', 'A READ answered by FIRST in the middle, which was not asked for, ends with a bad response error');
  const { peer, local } = reading(3);
  peer.respond(FIRST, 0, {}, full(1)).respond(FIRST, 1, {}, full(2));
  t.same(statuses(peer), [BAD_RESPONSE_ERROR]);
  t.equal(local.bytes[MTU], 0);
  const { peer: again } = reading(3);
  again.respond(FIRST, 0, {}, full(1)).wait(TIMEOUT_NS);
  t.match(again.takeOne(), { name: 'RDMA_READ_REQUEST', psn: 101 });
  again.respond(FIRST, 1, {}, full(2)).respond(LAST, 2, {}, full(3));
  t.same(statuses(again), [SUCCESS]);
  const { peer: late } = reading(3);
  late.respond(FIRST, 0, {}, full(1)).wait(TIMEOUT_NS);
  late.respond(MIDDLE, 1, {}, full(2)).respond(LAST, 2, {}, full(3));
  t.same(statuses(late), [SUCCESS], 'the first answer was only late');
});

for (const [what, opcode, request] of [
  ['a READ', ONLY, { opcode: SendOpcode.RDMA_READ }],
  ['an atomic', RC_ATOMIC_ACKNOWLEDGE, { opcode: SendOpcode.FETCH_ADD, atomic: { swapOrAdd: 1n } }],
] as const)
  t.test(`a response to ${what} with the syndrome of a NAK fails it`, async (t) => {
    for (const syndromeKind of [AethKind.RNR_NAK, 2, AethKind.NAK]) {
      const peer = new PacketPeer();
      const local = peer.fixture.createBuffer(8);
      peer.qp.post({ ...request, remote, sges: [peer.fixture.sge(local)] });
      peer.take();
      const payload = opcode === ONLY ? new Uint8Array(8).fill(5) : undefined;
      peer.respond(opcode, 0, { syndromeKind, originalLow: 5 }, payload);
      t.same(statuses(peer), [BAD_RESPONSE_ERROR], `kind ${syndromeKind}`);
      t.ok(local.bytes.every((byte) => byte === 0));
    }
  });

t.test('an atomic answered by a read response fails', async (t) => {
  ledger(t, '9.9.2', 'An atomic answered by a read response ends with a bad response error');
  const peer = new PacketPeer();
  const local = peer.fixture.createBuffer(8);
  const atomic = { swapOrAdd: 1n };
  peer.qp.post({ opcode: SendOpcode.FETCH_ADD, remote, atomic, sges: [peer.fixture.sge(local)] });
  peer.take();
  peer.respond(ONLY, 0, {}, new Uint8Array(8));
  t.same(statuses(peer), [BAD_RESPONSE_ERROR]);
});

t.test('an atomic acknowledgement brings the previous value', async (t) => {
  ledger(t, '9.7.6', 'The value of an atomic acknowledgement arrives in local memory in the byte order of the host');
  ledger(t, '9.9.2', 'An atomic whose acknowledgement is lost is repeated with the same PSN');
  const peer = new PacketPeer();
  const local = peer.fixture.createBuffer(8);
  const atomic = { swapOrAdd: 1n };
  peer.qp.post({ opcode: SendOpcode.FETCH_ADD, remote, atomic, sges: [peer.fixture.sge(local)] });
  t.same(peer.takeRequests(), ['FETCH_ADD 0']);
  peer.wait(TIMEOUT_NS);
  t.same(peer.takeRequests(), ['FETCH_ADD 0']);
  peer.respond(RC_ATOMIC_ACKNOWLEDGE, 0, { originalHigh: 0x01020304, originalLow: 0x05060708 });
  t.match(peer.qp.parts.sendCq.poll(), { status: SUCCESS, opcode: CompletionOpcode.FETCH_ADD, byteLength: 8 });
  t.same([...local.bytes], [8, 7, 6, 5, 4, 3, 2, 1]);
});

t.test('a READ whose local key is invalidated fails', async (t) => {
  ledger(t, '10.6.7', 'A read response for memory with an invalidated key is not written');
  ledger(t, '11.6.2', 'A READ whose local key is invalidated ends with a local protection error');
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, 1);
  const local = peer.fixture.createBuffer(2 * MTU);
  const sges = [{ address: local.address, length: 2 * MTU, lkey: region.lkey }];
  peer.qp.post({ opcode: SendOpcode.RDMA_READ, remote, sges });
  peer.take();
  peer.respond(FIRST, 0, {}, full(1));
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  peer.respond(LAST, 1, {}, full(2));
  t.equal(local.bytes[MTU], 0);
  t.same(statuses(peer), [CompletionStatus.LOCAL_PROTECTION_ERROR]);
});

t.test('a message whose local key is invalidated fails', async (t) => {
  ledger(t, '10.6.7', 'A message whose key is invalidated during its transmission ends with a local protection error');
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, 1);
  const local = peer.fixture.createBuffer(100 * MTU);
  peer.qp.post({ sges: [{ address: local.address, length: 100 * MTU, lkey: region.lkey }] });
  peer.settle();
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  t.ok(peer.take().length < 100);
  t.same(statuses(peer), [CompletionStatus.LOCAL_PROTECTION_ERROR]);
  peer.fixture.finish();
});

t.test('a NAK ends a READ', async (t) => {
  ledger(t, '9.7.6', 'A NAK in place of a read response ends the READ with the status of the NAK');
  const { peer } = reading(3);
  peer.respond(FIRST, 0, {}, full(1)).nak(1, NakCode.REMOTE_ACCESS_ERROR);
  t.same(statuses(peer), [CompletionStatus.REMOTE_ACCESS_ERROR]);
});

t.test('a READ without response fails after its retries', async (t) => {
  ledger(t, '9.9.2', 'A READ without a response fails when its retries are exhausted');
  const { peer } = reading(1, { retryCount: 2 });
  peer.wait(TIMEOUT_NS).wait(TIMEOUT_NS);
  t.same(statuses(peer), []);
  peer.wait(TIMEOUT_NS);
  t.same(statuses(peer), [RETRY_EXCEEDED]);
});
