// SPDX-License-Identifier: Apache-2.0
/**
 * PSNs at the responder: expected, ahead, behind, wrapped; acknowledgements and duplicates (IBTA
 * 9.7.1, 9.7.4.1, 9.7.5).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { CompletionStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const { RC_SEND_ONLY, RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST } = BthOpcode;
const { RC_RDMA_WRITE_ONLY, RC_RDMA_READ_REQUEST } = BthOpcode;
const MTU = 256;

function peerWithReceives(count: number, lengthBytes = 1024, options = {}): PacketPeer {
  const peer = new PacketPeer(options);
  for (let index = 0; index < count; index++) peer.fixture.postReceive(peer.qp, lengthBytes);
  return peer;
}

const received = (peer: PacketPeer): number => peer.qp.parts.receiveCq.drain().length;

t.test('a request with the expected PSN is executed and acknowledged with it', async (t) => {
  ledger(t, '9.7.4.1', 'A request whose PSN is the expected one is executed');
  ledger(t, '9.7.5', 'An acknowledgement carries the PSN of the request it answers');
  ledger(t, '9.7.5', 'An acknowledgement goes to the QP that the responder is connected to');
  const peer = peerWithReceives(1);
  peer.request(RC_SEND_ONLY);
  const answer = peer.takeOne();
  t.match(answer, { name: 'ACKNOWLEDGE', psn: 500, syndromeKind: 0, destQpn: 0xabcde, ackRequest: 0 });
  t.equal(received(peer), 1);
});

t.test('requests without AckReq are acknowledged with the next AckReq', async (t) => {
  ledger(t, '9.7.5', 'A request without AckReq need not be acknowledged');
  ledger(t, '9.7.5.1.2', 'One acknowledgement covers every request before it');
  const peer = peerWithReceives(3);
  peer.request(RC_SEND_ONLY, { ackRequest: 0 }).request(RC_SEND_ONLY, { ackRequest: 0 });
  t.same(peer.takeAnswers(), []);
  peer.request(RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 502']);
  t.equal(received(peer), 3);
});

t.test('acknowledgements that wait for the port are coalesced', async (t) => {
  ledger(t, '9.7.5.1.2', 'A responder may coalesce acknowledgements into one with the newest PSN');
  const peer = peerWithReceives(3);
  for (let psn = 500; psn < 503; psn++) peer.put(RC_SEND_ONLY, { psn, ackRequest: 1 });
  t.same(peer.takeAnswers(), ['ACK 502']);
});

t.test('the MSN counts messages, not packets', async (t) => {
  ledger(t, '9.7.7.1', 'The MSN starts at zero and goes up by one with each message completed');
  ledger(t, '9.7.7.1', 'The MSN stays while a message is in progress');
  const peer = peerWithReceives(4);
  t.equal(peer.request(RC_SEND_ONLY).takeOne().msn, 1);
  t.equal(peer.request(RC_SEND_FIRST, {}, new Uint8Array(MTU)).takeOne().msn, 1, 'in the middle of a message');
  t.equal(peer.request(RC_SEND_LAST, {}, new Uint8Array(4)).takeOne().msn, 2);
  const target = peer.remoteBuffer(16);
  peer.request(RC_RDMA_READ_REQUEST, peer.target(target));
  t.equal(peer.takeOne().msn, 3, 'READs count too');
});

t.test('a gap is answered by one NAK with the missing PSN', async (t) => {
  ledger(t, '9.7.4.1', 'A request with a PSN ahead of the expected one is not executed');
  ledger(t, '9.7.5.2', 'A gap is answered by a NAK for a PSN sequence error that carries the expected PSN');
  ledger(t, '9.7.5.2', 'Further packets after a gap are dropped silently until the expected one arrives');
  const peer = peerWithReceives(4);
  peer.request(RC_SEND_ONLY, { psn: 501 });
  t.same(peer.takeAnswers(), ['NAK 0 500']);
  peer.request(RC_SEND_ONLY, { psn: 502 }).request(RC_SEND_ONLY, { psn: 503 });
  t.same(peer.takeAnswers(), [], 'no second NAK');
  t.equal(received(peer), 0);
  peer.request(RC_SEND_ONLY, { psn: 500 });
  t.same(peer.takeAnswers(), ['ACK 500']);
  t.equal(received(peer), 1);
});

t.test('a second gap is answered by a second NAK', async (t) => {
  ledger(t, '9.7.5.2', 'After the expected packet has arrived, the next gap is answered by a NAK again');
  const peer = peerWithReceives(4);
  peer.request(RC_SEND_ONLY, { psn: 501 }).request(RC_SEND_ONLY, { psn: 500 });
  peer.take();
  peer.request(RC_SEND_ONLY, { psn: 502 });
  t.same(peer.takeAnswers(), ['NAK 0 501']);
});

t.test('a duplicate SEND is acknowledged again and not executed again', async (t) => {
  ledger(t, '9.7.5.1', 'A duplicate SEND is acknowledged');
  ledger(t, '9.7.5.1', 'A duplicate SEND consumes no receive entry and causes no completion');
  ledger(t, '9.7.5.1', 'The acknowledgement of a duplicate may cover all requests received since');
  const peer = peerWithReceives(3);
  peer.request(RC_SEND_ONLY).request(RC_SEND_ONLY);
  peer.take();
  t.equal(received(peer), 2);
  peer.request(RC_SEND_ONLY, { psn: 500 });
  t.same(peer.takeAnswers(), ['ACK 501']);
  t.equal(received(peer), 0);
  t.equal(peer.adapter.engine.connected.responder.duplicates, 1);
});

t.test('a duplicate WRITE is acknowledged and changes no memory', async (t) => {
  ledger(t, '9.7.5.1', 'A duplicate RDMA WRITE is acknowledged and changes no memory');
  const peer = new PacketPeer();
  const target = peer.remoteBuffer(16);
  peer.request(RC_RDMA_WRITE_ONLY, peer.target(target), new Uint8Array(16).fill(1));
  peer.take();
  target.bytes.fill(7);
  peer.request(RC_RDMA_WRITE_ONLY, { ...peer.target(target), psn: 500 }, new Uint8Array(16).fill(1));
  t.same(peer.takeAnswers(), ['ACK 500']);
  t.ok(target.bytes.every((byte) => byte === 7));
});

t.test('a duplicate in the middle of a message does not disturb it', async (t) => {
  ledger(t, '9.7.5.1', 'Duplicates do not change a message in progress');
  const peer = peerWithReceives(1);
  peer.request(RC_SEND_FIRST, {}, new Uint8Array(MTU).fill(1)).request(RC_SEND_MIDDLE, {}, new Uint8Array(MTU).fill(2));
  peer.request(RC_SEND_FIRST, { psn: 500 }, new Uint8Array(MTU).fill(9));
  peer.request(RC_SEND_LAST, {}, new Uint8Array(8).fill(3));
  peer.take();
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.SUCCESS, byteLength: 2 * MTU + 8 });
});

t.test('the acknowledgement of a duplicate does not cover a later READ', async (t) => {
  ledger(t, '9.7.5.1', 'The acknowledgement of a duplicate SEND does not cover a READ after it');
  const peer = peerWithReceives(2);
  const source = peer.remoteBuffer(3 * MTU);
  peer.request(RC_SEND_ONLY);
  peer.request(RC_RDMA_READ_REQUEST, peer.target(source));
  peer.psn = 504;
  peer.request(RC_SEND_ONLY);
  peer.take();
  peer.request(RC_SEND_ONLY, { psn: 500 });
  t.same(peer.takeAnswers(), ['ACK 500']);
});

t.test('a duplicate does not replace a NAK that waits for the port', async (t) => {
  ledger(t, '9.7.5.2', 'A NAK is sent although duplicates arrive before it leaves');
  const peer = peerWithReceives(2);
  peer.request(RC_SEND_ONLY);
  peer.take();
  peer.put(RC_SEND_ONLY, { psn: 502, ackRequest: 1 });
  peer.put(RC_SEND_ONLY, { psn: 500, ackRequest: 1 });
  t.same(peer.takeAnswers(), ['NAK 0 501']);
});

t.test('PSNs wrap at 24 bits', async (t) => {
  ledger(t, '9.7.1', 'PSNs are counted modulo 2^24');
  ledger(t, '9.7.1', 'PSNs are compared across the wrap');
  const peer = peerWithReceives(4, 1024, { receivePsn: 0xfffffe });
  peer.request(RC_SEND_ONLY).request(RC_SEND_ONLY).request(RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 16777214', 'ACK 16777215', 'ACK 0']);
  peer.request(RC_SEND_ONLY, { psn: 0xffffff });
  t.same(peer.takeAnswers(), ['ACK 0'], 'a duplicate from before the wrap');
  peer.request(RC_SEND_ONLY, { psn: 3 });
  t.same(peer.takeAnswers(), ['NAK 0 1']);
  t.equal(received(peer), 3);
});

t.test('half of the PSN space is behind the expected PSN, the other half ahead', async (t) => {
  ledger(t, '9.7.1', 'The 2^23 PSNs before the expected one are duplicates');
  ledger(t, '9.7.1', 'The 2^23 - 1 PSNs after the expected one are out of sequence');
  const peer = peerWithReceives(2);
  peer.request(RC_SEND_ONLY, { psn: (500 - 0x800000) & PSN_MASK });
  t.same(peer.takeAnswers(), ['ACK 499']);
  peer.request(RC_SEND_ONLY, { psn: 500 + 0x7fffff });
  t.same(peer.takeAnswers(), ['NAK 0 500']);
});

t.test('a SEND without a receive entry is answered by an RNR NAK, and executed when repeated', async (t) => {
  ledger(t, '9.7.5.2.8', 'A SEND that finds no receive entry is answered by an RNR NAK with its PSN');
  ledger(t, '9.7.5.2.8', 'The RNR NAK carries the timer of the QP attribute');
  ledger(t, '9.7.5.2.8', 'Packets after one refused by an RNR NAK are dropped silently');
  ledger(t, '9.7.5.2.8', 'A request refused by an RNR NAK is executed when it is repeated and an entry is posted');
  const peer = new PacketPeer({ minRnrTimer: 14 });
  peer.request(RC_SEND_ONLY);
  t.match(peer.takeOne(), { psn: 500, syndromeKind: 1, syndromeValue: 14 });
  peer.request(RC_SEND_ONLY, { psn: 501 });
  t.same(peer.takeAnswers(), []);
  peer.request(RC_SEND_ONLY, { psn: 500 });
  t.same(peer.takeAnswers(), ['RNR 500'], 'each attempt is refused anew');
  peer.fixture.postReceive(peer.qp, 64);
  peer.request(RC_SEND_ONLY, { psn: 500 });
  t.same(peer.takeAnswers(), ['ACK 500']);
  t.equal(received(peer), 1);
});

t.test('a WRITE with immediate needs an entry only for its last packet', async (t) => {
  ledger(t, '9.7.5.2.8', 'An RDMA WRITE with immediate data that finds no receive entry is answered by an RNR NAK');
  ledger(t, '9.4.3', 'The payload of an RDMA WRITE is placed before the immediate data consumes a receive entry');
  ledger(t, '10.7.2.2', 'A plain RDMA WRITE consumes no receive entry and causes no completion');
  const peer = new PacketPeer();
  const target = peer.remoteBuffer(2 * MTU);
  peer.request(BthOpcode.RC_RDMA_WRITE_FIRST, peer.target(target), new Uint8Array(MTU).fill(1));
  t.same(peer.takeAnswers(), ['ACK 500']);
  const last = BthOpcode.RC_RDMA_WRITE_LAST_WITH_IMMEDIATE;
  peer.request(last, { immediate: 0x01020304 }, new Uint8Array(MTU).fill(2));
  t.same(peer.takeAnswers(), ['RNR 501']);
  t.ok(target.bytes.subarray(0, MTU).every((byte) => byte === 1));
  peer.fixture.postReceive(peer.qp, 0);
  peer.request(last, { psn: 501, immediate: 0x01020304 }, new Uint8Array(MTU).fill(2));
  t.same(peer.takeAnswers(), ['ACK 501']);
  t.match(peer.qp.parts.receiveCq.poll(), { hasImmediate: 1, immediate: 0x01020304, byteLength: 2 * MTU });
  t.ok(target.bytes.subarray(MTU).every((byte) => byte === 2));
});

t.test('credits are the posted receive entries, rounded down to a credit code', async (t) => {
  ledger(t, '9.7.7.2', 'An acknowledgement carries the number of receive entries that are posted and unused');
  ledger(t, '9.7.7.2', 'Read responses and atomic acknowledgements carry credits too');
  const peer = peerWithReceives(6);
  t.equal(peer.request(RC_SEND_ONLY).takeOne().syndromeValue, 4, '5 entries: code 4 says 4, code 5 would say 6');
  t.equal(peer.request(RC_SEND_ONLY).takeOne().syndromeValue, 4, '4 entries');
  t.equal(peer.request(RC_SEND_ONLY).takeOne().syndromeValue, 3, '3 entries');
  const source = peer.remoteBuffer(8);
  t.equal(peer.request(RC_RDMA_READ_REQUEST, peer.target(source)).takeOne().syndromeValue, 3);
});
