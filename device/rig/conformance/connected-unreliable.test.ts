// SPDX-License-Identifier: Apache-2.0
/**
 * Unreliable connections, packet by packet: a lost packet loses its whole message, and no packet is
 * answered (IBTA 9.8.2).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer, type PeerOptions } from '../fixtures/packet-peer.ts';

const op = BthOpcode;
const MTU = 256;
const full = (byte: number): Uint8Array => new Uint8Array(MTU).fill(byte);

function unreliable(receives: number, options: PeerOptions = {}): PacketPeer {
  const peer = new PacketPeer({ serviceType: ServiceType.UC, ...options });
  for (let index = 0; index < receives; index++) peer.fixture.postReceive(peer.qp, 4 * MTU);
  return peer;
}

/** Lengths of the messages received. */
const lengths = (peer: PacketPeer): number[] => peer.qp.parts.receiveCq.drain().map(({ byteLength }) => byteLength);

t.test('a UC request completes when sent', async (t) => {
  ledger(t, '9.8.2', 'A UC request completes when its last packet is sent');
  ledger(t, '9.8.2', 'UC requests do not ask for acknowledgements');
  const peer = unreliable(0);
  const buffer = peer.fixture.createBuffer(2 * MTU);
  peer.qp.post({ sges: [peer.fixture.sge(buffer)] });
  const remote = { address: 64, rkey: 5 };
  peer.qp.post({ opcode: SendOpcode.RDMA_WRITE_IMMEDIATE, remote, sges: [peer.fixture.sge(buffer)] });
  const sent = peer.take();
  t.same(
    sent.map(({ opcode, psn, ackRequest }) => [opcode, psn, ackRequest]),
    [
      [op.UC_SEND_FIRST, 100, 0],
      [op.UC_SEND_LAST, 101, 0],
      [op.UC_RDMA_WRITE_FIRST, 102, 0],
      [op.UC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 103, 0],
    ],
  );
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS, CompletionStatus.SUCCESS],
  );
});

t.test('UC messages in sequence are delivered without a response', async (t) => {
  ledger(t, '9.8.2', 'A UC responder sends no response');
  ledger(t, '9.8.2', 'UC messages in sequence are delivered');
  const peer = unreliable(2);
  peer.request(op.UC_SEND_FIRST, {}, full(1)).request(op.UC_SEND_MIDDLE, {}, full(2));
  peer.request(op.UC_SEND_LAST, {}, full(3)).request(op.UC_SEND_ONLY, {}, full(4));
  t.same(lengths(peer), [3 * MTU, MTU]);
  t.same(peer.take(), []);
});

t.test('a gap drops the whole message', async (t) => {
  ledger(t, '9.8.2', 'A gap in a UC message drops the message');
  ledger(t, '9.8.2', 'The rest of a dropped UC message is dropped too');
  ledger(t, '9.8.2', 'The next UC message is delivered into the receive entry of the dropped one');
  const peer = unreliable(1);
  peer.request(op.UC_SEND_FIRST, {}, full(1));
  peer.psn++;
  peer.request(op.UC_SEND_MIDDLE, {}, full(3)).request(op.UC_SEND_LAST, {}, full(4));
  t.same(lengths(peer), []);
  peer.request(op.UC_SEND_FIRST, {}, full(5)).request(op.UC_SEND_LAST, {}, full(6));
  t.same(lengths(peer), [2 * MTU]);
  t.equal(peer.qp.query().state, QpState.RTS);
});

t.test('a message may begin with any PSN', async (t) => {
  ledger(t, '9.8.2', 'A UC message may begin with any PSN');
  const peer = unreliable(2);
  peer.psn += 7;
  peer.request(op.UC_SEND_ONLY, {}, full(1));
  peer.psn -= 3;
  peer.request(op.UC_SEND_ONLY, {}, full(1));
  t.same(lengths(peer), [MTU, MTU]);
});

t.test('a new message ends an incomplete one', async (t) => {
  ledger(t, '9.8.2', 'A new UC message ends an incomplete one');
  const peer = unreliable(1);
  peer.request(op.UC_SEND_FIRST, {}, full(1));
  peer.request(op.UC_SEND_ONLY, {}, full(2));
  t.same(lengths(peer), [MTU]);
});

t.test('a message without its first packet is dropped', async (t) => {
  ledger(t, '9.8.2', 'A UC message without its first packet is dropped');
  const peer = unreliable(1);
  peer.psn++;
  peer.request(op.UC_SEND_MIDDLE, {}, full(1)).request(op.UC_SEND_LAST, {}, full(2));
  t.same(lengths(peer), []);
  peer.request(op.UC_SEND_ONLY, {}, full(3));
  t.same(lengths(peer), [MTU]);
});

t.test('a message without receive entry is dropped', async (t) => {
  ledger(t, '9.8.2', 'A UC message without a receive entry is dropped completely, without an RNR NAK');
  const peer = unreliable(0);
  peer.request(op.UC_SEND_FIRST, {}, full(1));
  peer.fixture.postReceive(peer.qp, 4 * MTU);
  peer.request(op.UC_SEND_LAST, {}, full(2));
  t.same(lengths(peer), []);
  peer.request(op.UC_SEND_ONLY, {}, full(3));
  t.same(lengths(peer), [MTU]);
  t.same(peer.take(), []);
});

t.test('an invalid WRITE is dropped silently', async (t) => {
  ledger(t, '9.9.3', 'A UC request with a wrong key, right or length is dropped silently, and the QP works on');
  const peer = unreliable(1);
  const target = peer.remoteBuffer(MTU);
  peer.request(op.UC_RDMA_WRITE_ONLY, { ...peer.target(target), rKey: 1 }, full(1));
  peer.request(op.UC_RDMA_WRITE_ONLY, { ...peer.target(target), dmaLength: MTU - 1 }, full(1));
  peer.request(op.UC_SEND_FIRST, {}, full(1).subarray(1));
  t.ok(target.bytes.every((byte) => byte === 0));
  peer.request(op.UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, { ...peer.target(target), immediate: 3 }, full(1));
  t.ok(target.bytes.every((byte) => byte === 1));
  t.same(lengths(peer), [MTU]);
  t.same(peer.events(), []);
  const none = unreliable(0, { access: AccessFlag.REMOTE_READ });
  const closed = none.remoteBuffer(MTU);
  none.request(op.UC_RDMA_WRITE_ONLY, none.target(closed), full(1));
  t.ok(closed.bytes.every((byte) => byte === 0));
});

t.test('a WRITE with a gap writes no more', async (t) => {
  ledger(t, '9.8.2', 'A UC WRITE with a gap writes no more; the packets before the gap stay written');
  const peer = unreliable(0);
  const target = peer.remoteBuffer(3 * MTU);
  peer.request(op.UC_RDMA_WRITE_FIRST, peer.target(target), full(1));
  peer.psn++;
  peer.request(op.UC_RDMA_WRITE_LAST, {}, full(3));
  t.equal(target.bytes[0], 1);
  t.ok(target.bytes.subarray(MTU).every((byte) => byte === 0));
});

t.test('a message longer than its receive entry is a local length error', async (t) => {
  ledger(t, '9.9.3', 'A UC SEND longer than the receive entry completes it with a local length error');
  const peer = unreliable(0);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(op.UC_SEND_ONLY, {}, full(1));
  t.equal(peer.qp.parts.receiveCq.poll()?.status, CompletionStatus.LOCAL_LENGTH_ERROR);
  t.equal(peer.qp.query().state, QpState.ERR);
  t.same(peer.take(), []);
});
