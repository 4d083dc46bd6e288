// SPDX-License-Identifier: Apache-2.0
/**
 * Packets of a requester: opcodes, segmentation, PSNs, AckReq, headers, order, fence, initiator
 * depth, credits (IBTA 9.2 to 9.4, 9.7.2, 9.7.3, 9.8.2.1).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  QpMask,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const MTU = 256;
const { SEND, SEND_INVALIDATE, RDMA_WRITE, RDMA_WRITE_IMMEDIATE, RDMA_READ, FETCH_ADD, COMPARE_SWAP } = SendOpcode;

/** A request of `lengthBytes` of new memory to remote address 0x10_0000_0040 with R_Key 0x77. */
function of(peer: PacketPeer, opcode: SendOpcode, lengthBytes: number, more: Partial<SendRequest> = {}): SendRequest {
  const buffer = peer.fixture.createBuffer(peer.fixture.random.bytes(lengthBytes));
  return {
    opcode,
    sges: lengthBytes === 0 ? [] : [{ address: buffer.address, length: lengthBytes, lkey: peer.region.lkey }],
    ...(opcode === SEND ? {} : { remote: { address: 0x10_0000_0040, rkey: 0x77 } }),
    ...more,
  };
}

const atomic = { swapOrAdd: 0x1122_3344_5566_7788n, compare: 0x99n };

t.test('messages are segmented by the path MTU', async (t) => {
  ledger(t, '9.4.1', 'A SEND that fits the path MTU is SEND ONLY');
  ledger(t, '9.4.1', 'A longer SEND is FIRST, MIDDLE and LAST; only the last may be shorter than the path MTU');
  ledger(t, '9.4.3', 'An RDMA WRITE is segmented like a SEND; only the first packet has a RETH, for the whole message');
  ledger(t, '9.7.2', 'Each packet takes the next PSN');
  ledger(t, '9.2', 'AckReq is set in the last packet of a message');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, MTU));
  peer.qp.post(of(peer, SEND, 2 * MTU + 1));
  peer.qp.post(of(peer, RDMA_WRITE, MTU + 1));
  const sent = peer.take();
  t.same(
    sent.map(({ name, psn, payload, ackRequest }) => [name, psn, payload.length, ackRequest]),
    [
      ['SEND_ONLY', 100, MTU, 1],
      ['SEND_FIRST', 101, MTU, 0],
      ['SEND_MIDDLE', 102, MTU, 0],
      ['SEND_LAST', 103, 1, 1],
      ['RDMA_WRITE_FIRST', 104, MTU, 0],
      ['RDMA_WRITE_LAST', 105, 1, 1],
    ],
  );
  t.match(sent[4], { address: 0x10_0000_0040, rKey: 0x77, dmaLength: MTU + 1 });
});

t.test('headers carry the attributes of the QP and its path', async (t) => {
  ledger(t, '9.2', 'Requests carry the P_Key of the QP, the number of the remote QP and transport version 0');
  ledger(t, '9.6.1.5', 'Requests have the destination LID of the path and the source LID of the port');
  ledger(t, '9.2', 'The solicited event bit is set in the last packet only');
  ledger(t, '9.3.6', 'Immediate data travels in the last packet, most significant byte first');
  ledger(t, '9.4.1', 'SEND with Invalidate carries the R_Key in its last packet');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, MTU + 4, { opcode: SendOpcode.SEND_IMMEDIATE, immediate: 0x0a0b0c0d, solicited: true }));
  const [first, last] = peer.take();
  t.match(first, { name: 'SEND_FIRST', pKey: 0xffff, destQpn: 0xabcde, slid: 1, dlid: 2, solicited: 0 });
  t.match(last, { name: 'SEND_LAST_WITH_IMMEDIATE', solicited: 1, immediate: 0x0a0b0c0d });
  t.same([...(last?.bytes.subarray(20, 24) ?? [])], [10, 11, 12, 13], 'behind LRH and BTH');
  peer.qp.post(of(peer, SEND_INVALIDATE, 4, { header: { immediate: 0x1234 } }));
  t.match(peer.takeOne(), { name: 'SEND_ONLY_WITH_INVALIDATE', invalidateRKey: 0x1234 });
  peer.qp.post(of(peer, RDMA_WRITE_IMMEDIATE, 4, { header: { immediate: 5 } }));
  t.match(peer.takeOne(), { name: 'RDMA_WRITE_ONLY_WITH_IMMEDIATE', immediate: 5, dmaLength: 4 });
});

t.test('payload is padded to a multiple of 4 bytes', async (t) => {
  ledger(t, '9.2', 'Payload is padded with zeros to a multiple of 4, and the pad count is set');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 5));
  const { bytes, payload } = peer.takeOne();
  t.equal(((bytes[9] as number) >> 4) & 3, 3);
  t.equal(payload.length, 5);
  t.same([...bytes.subarray(20 + 5, 20 + 8)], [0, 0, 0]);
});

t.test('a message of zero bytes takes one packet', async (t) => {
  ledger(t, '9.7.2', 'A message of zero bytes takes one packet and one PSN');
  ledger(t, '9.4.4', 'An RDMA READ of zero bytes takes one PSN and completes with an empty response');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 0));
  peer.qp.post(of(peer, RDMA_WRITE, 0));
  peer.qp.post(of(peer, RDMA_READ, 0));
  peer.qp.post(of(peer, SEND, 0));
  t.same(peer.takeRequests(), ['SEND_ONLY 0', 'RDMA_WRITE_ONLY 1', 'RDMA_READ_REQUEST 2', 'SEND_ONLY 3']);
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_ONLY, 2).acknowledge(3);
  const done = peer.qp.parts.sendCq.drain();
  t.same(
    done.map(({ status, byteLength }) => [status, byteLength]),
    [0, 0, 0, 0].map(() => [CompletionStatus.SUCCESS, 0]),
  );
});

t.test('a READ takes the PSNs of its responses, an atomic one', async (t) => {
  ledger(t, '9.7.3', 'A READ takes as many PSNs as it has responses');
  ledger(t, '9.3.4', 'Atomic requests carry address, key and operands');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, RDMA_READ, 3 * MTU + 1));
  peer.qp.post(of(peer, FETCH_ADD, 8, { atomic }));
  peer.qp.post(of(peer, COMPARE_SWAP, 8, { atomic }));
  const [read, add, swap] = peer.take();
  t.match(read, { name: 'RDMA_READ_REQUEST', psn: 100, dmaLength: 3 * MTU + 1, ackRequest: 1 });
  t.match(add, { name: 'FETCH_ADD', psn: 104, swapOrAddHigh: 0x11223344, swapOrAddLow: 0x55667788, compareLow: 0 });
  t.match(swap, { name: 'COMPARE_SWAP', psn: 105, compareHigh: 0, compareLow: 0x99, rKey: 0x77 });
});

t.test('later changes of inline data have no effect', async (t) => {
  ledger(t, '11.4.1.1', 'Inline data may be changed as soon as it is posted');
  const peer = new PacketPeer();
  const payload = peer.fixture.random.bytes(200);
  const posted = payload.slice();
  peer.qp.post({ inline: posted });
  posted.fill(0);
  t.same(peer.takeOne().payload, payload);
});

t.test('the PSNs of requests wrap', async (t) => {
  ledger(t, '9.7.1', 'The PSNs of requests wrap at 24 bits, also within a message');
  const peer = new PacketPeer({ sendPsn: 0xffffff });
  peer.qp.post(of(peer, SEND, 3 * MTU));
  t.same(
    peer.take().map(({ psn }) => psn),
    [0xffffff, 0, 1],
  );
  peer.acknowledge(2);
  t.equal(peer.qp.parts.sendCq.poll()?.status, CompletionStatus.SUCCESS);
});

t.test('a long message requests acknowledgements before its end', async (t) => {
  ledger(t, '9.7.3', 'A long message requests acknowledgements before its end');
  const peer = new PacketPeer({ sendEntriesLog2: 2 });
  peer.qp.post(of(peer, RDMA_WRITE, 200 * MTU));
  const asked = peer.take().filter(({ ackRequest }) => ackRequest === 1);
  t.ok(asked.length >= 3, `${asked.length} times`);
});

t.test('outstanding READs and atomics are limited', async (t) => {
  ledger(t, '9.7.3', 'No more READs and atomics are outstanding than the initiator depth allows');
  ledger(t, '9.5', 'Requests after a READ that must wait also wait');
  const peer = new PacketPeer({ maxReads: 2 });
  for (let count = 0; count < 3; count++) peer.qp.post(of(peer, RDMA_READ, 8));
  peer.qp.post(of(peer, SEND, 8));
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 0', 'RDMA_READ_REQUEST 1']);
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_ONLY, 0, {}, new Uint8Array(8));
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 2', 'SEND_ONLY 3']);
});

t.test('a READ on a QP without initiator depth fails', async (t) => {
  ledger(t, '11.2.5.2', 'A READ on a QP without initiator depth is refused');
  const peer = new PacketPeer({ maxReads: 0 });
  peer.qp.post(of(peer, RDMA_READ, 8));
  peer.settle();
  t.equal(peer.qp.parts.sendCq.poll()?.status, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
  t.same(peer.take(), []);
  t.equal(peer.fixture.faults(FaultKind.COMMAND_OPCODE), 1, 'it is counted');
});

t.test('a fenced request waits for earlier READs and atomics', async (t) => {
  ledger(t, '10.8.3.3', 'A fenced request is begun after all earlier READs and atomics have completed');
  ledger(t, '10.8.3.3', 'A fence does not wait for SENDs and WRITEs');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 8));
  peer.qp.post(of(peer, SEND, 8, { fence: true }));
  t.same(peer.takeRequests(), ['SEND_ONLY 0', 'SEND_ONLY 1']);
  peer.qp.post(of(peer, RDMA_READ, 2 * MTU));
  peer.qp.post(of(peer, FETCH_ADD, 8, { atomic }));
  peer.qp.post(of(peer, SEND, 8, { fence: true }));
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 2', 'FETCH_ADD 4']);
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_FIRST, 2, {}, new Uint8Array(MTU));
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_LAST, 3, {}, new Uint8Array(MTU));
  t.same(peer.takeRequests(), [], 'the atomic is outstanding');
  peer.respond(BthOpcode.RC_ATOMIC_ACKNOWLEDGE, 4);
  t.same(peer.takeRequests(), ['SEND_ONLY 5']);
});

t.test('messages wait for end-to-end credits', async (t) => {
  ledger(t, '9.7.7.2', 'Without credits one message is sent as a probe; the next one waits');
  ledger(t, '9.7.7.2', 'New credits release waiting messages');
  ledger(t, '9.7.7.2', 'RDMA WRITEs and READs need no credit');
  ledger(t, '9.7.7.2', 'Credit code 31 means no limit');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 8));
  peer.take();
  peer.acknowledge(0, { msn: 1, syndromeValue: 0 });
  for (let count = 0; count < 3; count++) peer.qp.post(of(peer, SEND, 8));
  t.same(peer.takeRequests(), ['SEND_ONLY 1']);
  peer.acknowledge(1, { msn: 2, syndromeValue: 1 });
  t.same(peer.takeRequests(), ['SEND_ONLY 2']);
  peer.acknowledge(2, { msn: 3, syndromeValue: 31 });
  t.same(peer.takeRequests(), ['SEND_ONLY 3']);
  peer.acknowledge(3, { msn: 4, syndromeValue: 0 });
  peer.qp.post(of(peer, RDMA_WRITE, 8));
  peer.qp.post(of(peer, RDMA_WRITE, 8));
  t.same(peer.takeRequests(), ['RDMA_WRITE_ONLY 4', 'RDMA_WRITE_ONLY 5']);
});

t.test('at most half of the PSN space is outstanding', async (t) => {
  ledger(t, '9.7.1', 'At most 2^23 PSNs are outstanding');
  const peer = new PacketPeer();
  const huge = { address: peer.fixture.access.memoryAddress, length: 0x8000_0000, lkey: 0 };
  const region = peer.fixture.driver.createMemoryRegion({
    pd: peer.fixture.pd,
    access: 1,
    startAddress: huge.address,
    length: 0x8000_0000,
  });
  peer.qp.post(of(peer, RDMA_WRITE, 8));
  peer.qp.post({ opcode: RDMA_READ, remote: { address: 0, rkey: 1 }, sges: [{ ...huge, lkey: region.lkey }] });
  t.same(peer.takeRequests(), ['RDMA_WRITE_ONLY 0']);
  peer.acknowledge(0);
  t.match(peer.takeOne(), { name: 'RDMA_READ_REQUEST', dmaLength: 0x8000_0000 });
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_FIRST, 1, {}, new Uint8Array(MTU));
  peer.qp.post(of(peer, SEND, 8));
  t.same(peer.takeRequests(), [], 'no window for it');
});

t.test('an operation that the service lacks fails', async (t) => {
  ledger(t, '9.4', 'UC has no READ, no atomics, no SEND with Invalidate');
  for (const opcode of [RDMA_READ, FETCH_ADD, COMPARE_SWAP, SEND_INVALIDATE]) {
    const peer = new PacketPeer({ serviceType: ServiceType.UC });
    peer.qp.post(of(peer, opcode, 8, opcode === RDMA_READ ? {} : { atomic }));
    peer.settle();
    t.equal(peer.qp.parts.sendCq.poll()?.status, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
    t.equal(peer.fixture.faults(FaultKind.COMMAND_OPCODE), 1);
    t.same(peer.take(), []);
  }
});

t.test('an unsignaled request completes silently', async (t) => {
  ledger(t, '10.7.3.1', 'An unsignaled request that succeeds posts no completion');
  ledger(t, '10.7.3.1', 'A QP that signals all requests posts a completion for unsignaled ones too');
  for (const signalAll of [0, 1]) {
    const peer = new PacketPeer({ signalAll });
    peer.qp.post(of(peer, SEND, 8, { signaled: false }));
    peer.qp.post(of(peer, SEND, 8));
    peer.take();
    peer.acknowledge(1);
    t.equal(peer.qp.parts.sendCq.drain().length, 1 + signalAll);
  }
});

t.test('requests before an invalid one complete', async (t) => {
  ledger(t, '10.8.5', 'Requests complete in the order in which they were posted, also failed ones');
  ledger(t, '9.9.2', 'Packets sent before an invalid request are sent again when they are lost');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 8));
  peer.qp.post(of(peer, SEND, 8, { sges: [{ address: 0, length: 8, lkey: 1 }] }));
  peer.qp.post(of(peer, SEND, 8));
  t.same(peer.takeRequests(), ['SEND_ONLY 0']);
  t.notOk(peer.qp.parts.sendCq.ready);
  peer.wait(5e6);
  t.same(peer.takeRequests(), ['SEND_ONLY 0'], 'sent again');
  peer.acknowledge(0);
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS, CompletionStatus.LOCAL_PROTECTION_ERROR, CompletionStatus.FLUSHED],
  );
  t.equal(peer.qp.query().state, QpState.ERR);
  peer.fixture.finish();
});

t.test('an invalid request in SQD completes in error', async (t) => {
  ledger(t, '10.3.1', 'In SQD a request that was begun and failed is reported as in RTS');
  const peer = new PacketPeer();
  peer.qp.post(of(peer, SEND, 8));
  peer.qp.post(of(peer, SEND, 8, { sges: [{ address: 0, length: 8, lkey: 1 }] }));
  peer.take();
  peer.qp.change({ attributeMask: QpMask.STATE, state: QpState.SQD });
  peer.acknowledge(0);
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS, CompletionStatus.LOCAL_PROTECTION_ERROR],
  );
  peer.fixture.finish();
});
