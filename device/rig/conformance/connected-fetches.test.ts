// SPDX-License-Identifier: Apache-2.0
/**
 * READs and atomics at the responder: responses, duplicates, responder resources (IBTA 9.4.4,
 * 9.4.5, 9.7.5.1).
 */
import t from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { EventType, ManagementOpcode, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const op = BthOpcode;
const MTU = 256;

function cellOf(buffer: { bytes: Uint8Array }): DataView {
  return new DataView(buffer.bytes.buffer, buffer.bytes.byteOffset, 8);
}

t.test('a READ of one packet is answered by one response', async (t) => {
  ledger(t, '9.4.4', 'An RDMA READ that fits one packet is answered by READ RESPONSE ONLY with an AETH');
  ledger(t, '9.7.5', 'The first read response has the PSN of its request');
  const peer = new PacketPeer();
  const source = peer.remoteBuffer(peer.fixture.random.bytes(100));
  const answer = peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source)).takeOne();
  t.match(answer, { name: 'RDMA_READ_RESPONSE_ONLY', psn: 500, syndromeKind: 0, msn: 1 });
  t.same(answer.payload, source.bytes);
});

t.test('a READ of many packets is answered by FIRST, MIDDLE and LAST', async (t) => {
  ledger(
    t,
    '9.4.4',
    'A longer RDMA READ is answered by FIRST, MIDDLE and LAST; only the last may be shorter than the path MTU',
  );
  ledger(t, '9.7.5', 'Read responses have consecutive PSNs, and the next request has the PSN after them');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  const source = peer.remoteBuffer(peer.fixture.random.bytes(3 * MTU + 5));
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source));
  const answers = peer.take();
  t.same(
    answers.map(({ name, psn, payload }) => [name.replace('RDMA_READ_RESPONSE_', ''), psn, payload.length]),
    [
      ['FIRST', 500, MTU],
      ['MIDDLE', 501, MTU],
      ['MIDDLE', 502, MTU],
      ['LAST', 503, 5],
    ],
  );
  t.same(
    answers.flatMap(({ payload }) => [...payload]),
    [...source.bytes],
  );
  peer.request(op.RC_SEND_ONLY, { psn: 504 });
  t.same(peer.takeAnswers(), ['ACK 504']);
});

t.test('a duplicate READ is executed again', async (t) => {
  ledger(t, '9.7.5.1', 'A duplicate RDMA READ is executed again and reads the present memory');
  const peer = new PacketPeer();
  const source = peer.remoteBuffer(new Uint8Array(16).fill(1));
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source)).take();
  source.bytes.fill(2);
  const answer = peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn: 500 }).takeOne();
  t.match(answer, { name: 'RDMA_READ_RESPONSE_ONLY', psn: 500 });
  t.ok(answer.payload.every((byte) => byte === 2));
});

t.test('a duplicate READ may begin in the middle', async (t) => {
  ledger(
    t,
    '9.7.5.1',
    'A duplicate RDMA READ from a later PSN on is answered from there, beginning with FIRST or ONLY',
  );
  const peer = new PacketPeer();
  const source = peer.remoteBuffer(peer.fixture.random.bytes(4 * MTU));
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source)).take();
  peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(source, 2 * MTU, 2 * MTU), psn: 502 });
  const answers = peer.take();
  t.same(
    answers.map(({ name, psn }) => `${name} ${psn}`),
    ['RDMA_READ_RESPONSE_FIRST 502', 'RDMA_READ_RESPONSE_LAST 503'],
  );
  t.same(answers[0]?.payload, source.bytes.subarray(2 * MTU, 3 * MTU));
  peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(source, MTU, 3 * MTU), psn: 503 });
  t.same(peer.takeAnswers(), ['RDMA_READ_RESPONSE_ONLY 503']);
});

t.test('responses leave in the order of their PSNs, also repeated ones', async (t) => {
  ledger(t, '9.7.5.1', 'Responses are sent in the order of the requests');
  ledger(t, '9.7.5.1', 'An acknowledgement waits for the read responses of requests before it');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  const source = peer.remoteBuffer(2 * MTU);
  const read = peer.target(source);
  peer.put(op.RC_RDMA_READ_REQUEST, { ...read, psn: 500 });
  peer.put(op.RC_RDMA_READ_REQUEST, { ...read, psn: 502 });
  peer.put(op.RC_SEND_ONLY, { psn: 504, ackRequest: 1 });
  const first = ['FIRST 500', 'LAST 501', 'FIRST 502', 'LAST 503'].map((name) => `RDMA_READ_RESPONSE_${name}`);
  t.same(peer.takeAnswers(), [...first, 'ACK 504']);
  peer.put(op.RC_RDMA_READ_REQUEST, { ...read, psn: 502 });
  peer.put(op.RC_RDMA_READ_REQUEST, { ...read, psn: 500 });
  t.same(peer.takeAnswers(), first);
});

t.test('a READ from before the connection is dropped', async (t) => {
  ledger(t, '9.7.5.1', 'A READ or atomic with a PSN from before the connection is dropped');
  const peer = new PacketPeer({ receivePsn: 5 });
  peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(peer.remoteBuffer(8)), psn: 0 });
  peer.request(op.RC_FETCH_ADD, { ...peer.target(peer.remoteBuffer(8)), psn: 0 });
  t.same(peer.take(), []);
});

t.test('FETCH_ADD and COMPARE_SWAP change memory and return its previous value', async (t) => {
  ledger(t, '9.4.5', 'FETCH & ADD adds modulo 2^64 and returns the previous value');
  ledger(t, '9.4.5', 'COMPARE & SWAP stores only if memory holds the compared value, and returns the previous value');
  const peer = new PacketPeer();
  const buffer = peer.remoteBuffer(8);
  const cell = cellOf(buffer);
  cell.setBigUint64(0, 0xffff_ffff_ffff_ffffn, true);
  peer.request(op.RC_FETCH_ADD, { ...peer.target(buffer), swapOrAddLow: 2 });
  t.match(peer.takeOne(), { name: 'ATOMIC_ACKNOWLEDGE', psn: 500, originalHigh: 0xffffffff, originalLow: 0xffffffff });
  t.equal(cell.getBigUint64(0, true), 1n);
  const swap = { ...peer.target(buffer), swapOrAddHigh: 7, swapOrAddLow: 8 };
  t.match(peer.request(op.RC_COMPARE_SWAP, { ...swap, compareLow: 2 }).takeOne(), { originalHigh: 0, originalLow: 1 });
  t.equal(cell.getBigUint64(0, true), 1n, 'not equal: unchanged');
  t.match(peer.request(op.RC_COMPARE_SWAP, { ...swap, compareLow: 1 }).takeOne(), { originalLow: 1, msn: 3 });
  t.equal(cell.getBigUint64(0, true), 0x7_0000_0008n);
});

t.test('a duplicate atomic gets the saved result', async (t) => {
  ledger(t, '9.7.5.1', 'A duplicate atomic is not executed again');
  ledger(t, '9.7.5.1', 'A duplicate atomic gets the result of its first execution');
  const peer = new PacketPeer();
  const buffer = peer.remoteBuffer(8);
  const add = { ...peer.target(buffer), swapOrAddLow: 5 };
  peer.request(op.RC_FETCH_ADD, add).request(op.RC_FETCH_ADD, add);
  peer.take();
  for (const [psn, original] of [
    [500, 0],
    [501, 5],
  ] as const) {
    const answer = peer.request(op.RC_FETCH_ADD, { ...add, psn }).takeOne();
    t.match(answer, { name: 'ATOMIC_ACKNOWLEDGE', psn, originalLow: original });
  }
  t.equal(cellOf(buffer).getUint32(0, true), 10);
});

t.test('the responder saves the results of the newest READs and atomics', async (t) => {
  ledger(
    t,
    '9.4.5',
    'As many READs and atomics are saved as the QP has responder resources; a duplicate of an older one is dropped',
  );
  const peer = new PacketPeer({ maxReads: 2 });
  const buffer = peer.remoteBuffer(8);
  const add = { ...peer.target(buffer), swapOrAddLow: 1 };
  for (let count = 0; count < 3; count++) peer.request(op.RC_FETCH_ADD, add).take();
  peer.request(op.RC_FETCH_ADD, { ...add, psn: 500 });
  t.same(peer.take(), [], 'the oldest is forgotten');
  t.equal(peer.request(op.RC_FETCH_ADD, { ...add, psn: 501 }).takeOne().originalLow, 1);
  t.equal(cellOf(buffer).getUint32(0, true), 3);
});

t.test('more READs than responder resources are an invalid request', async (t) => {
  ledger(t, '9.7.4.1', 'More READs and atomics than responder resources are an invalid request');
  ledger(t, '9.7.5', 'Requests accepted before a refused one are answered before the NAK');
  const peer = new PacketPeer({ maxReads: 2 });
  const source = peer.remoteBuffer(8);
  for (let psn = 500; psn < 503; psn++) peer.put(op.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn });
  const answers = peer.takeAnswers();
  t.same(answers, ['RDMA_READ_RESPONSE_ONLY 500', 'RDMA_READ_RESPONSE_ONLY 501', `NAK ${NakCode.INVALID_REQUEST} 502`]);
  t.same(peer.events(), [EventType.QP_REQUEST_ERROR]);
  t.equal(peer.qp.query().state, QpState.ERR);
});

t.test('a QP without responder resources refuses READs', async (t) => {
  ledger(t, '11.2.5.2', 'A QP without responder resources refuses READs and atomics');
  const peer = new PacketPeer({ maxReads: 0, state: 'rtr' });
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(peer.remoteBuffer(8)));
  t.same(peer.takeAnswers(), [`NAK ${NakCode.INVALID_REQUEST} 500`]);
});

t.test('a late duplicate does not displace a new READ', async (t) => {
  ledger(t, '9.7.5.1', 'A new READ is served although the response to a duplicate holds the only responder resource');
  const peer = new PacketPeer({ maxReads: 1 });
  const source = peer.remoteBuffer(8);
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source)).take();
  peer.put(op.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn: 500 });
  peer.put(op.RC_RDMA_READ_REQUEST, { ...peer.target(source), psn: 501 });
  t.ok(peer.takeAnswers().includes('RDMA_READ_RESPONSE_ONLY 501'));
  t.equal(peer.qp.query().state, QpState.RTS);
});

t.test('a READ whose key is invalidated during its responses ends with a NAK', async (t) => {
  ledger(t, '9.7.5.2', 'A READ whose key is invalidated ends with a NAK in place of the next response');
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, 15);
  const source = peer.remoteBuffer(100 * MTU);
  peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(source), rKey: region.rkey });
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  const answers = peer.takeAnswers();
  t.match(answers.at(-1), /^NAK 2 /);
  t.equal(answers.length, 1 + Number(answers.at(-1)?.split(' ')[2]) - 500, 'no response is missing before it');
  t.same(peer.events(), [EventType.QP_ACCESS_ERROR]);
});

t.test('a late duplicate of a READ with an invalidated key is dropped', async (t) => {
  ledger(
    t,
    '9.7.5.1',
    'A late duplicate of a READ whose key was invalidated since is dropped; the connection works on',
  );
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, 15);
  const source = peer.remoteBuffer(10);
  const fields = { ...peer.target(source), rKey: region.rkey };
  peer.request(op.RC_RDMA_READ_REQUEST, fields);
  t.equal(peer.takeAnswers().length, 1);
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  peer.request(op.RC_RDMA_READ_REQUEST, { ...fields, psn: 500 });
  t.same(peer.takeAnswers(), []);
  t.same(peer.events(), []);
  peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source));
  t.equal(peer.takeAnswers().length, 1, 'the connection goes on');
});

t.test('ERR and RESET end the responses of a READ', async (t) => {
  ledger(t, '10.3.1', 'A QP in the error state sends no more read responses');
  ledger(t, '10.3.1', 'A QP in RESET sends no packets');
  for (const end of ['toError', 'toReset'] as const) {
    const peer = new PacketPeer();
    const source = peer.remoteBuffer(200 * MTU);
    peer.request(op.RC_RDMA_READ_REQUEST, peer.target(source));
    peer.qp[end]();
    const sent = peer.take().length;
    t.ok(sent <= 64, `${end}: ${sent} packets, those that waited in the port`);
    peer.fixture.finish();
  }
});

t.test('responder resources can change in SQD', async (t) => {
  ledger(t, '11.2.5.2', 'The number of responder resources can be changed in SQD; the newest results stay saved');
  const peer = new PacketPeer({ maxReads: 4 });
  const buffer = peer.remoteBuffer(8);
  const add = { ...peer.target(buffer), swapOrAddLow: 1 };
  for (let count = 0; count < 3; count++) peer.request(op.RC_FETCH_ADD, add).take();
  peer.qp.change({ attributeMask: QpMask.STATE, state: QpState.SQD });
  peer.qp.change({ attributeMask: QpMask.STATE | QpMask.MAX_READS_SERVED, state: QpState.SQD, maxReadsServed: 1 });
  t.same(peer.request(op.RC_FETCH_ADD, { ...add, psn: 501 }).take(), []);
  t.equal(peer.request(op.RC_FETCH_ADD, { ...add, psn: 502 }).takeOne().originalLow, 2);
  t.equal(peer.request(op.RC_FETCH_ADD, add).takeOne().originalLow, 3, 'and a new one is served');
});
