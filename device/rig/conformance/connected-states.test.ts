// SPDX-License-Identifier: Apache-2.0
/**
 * States of connected QPs: packets received and sent in each, draining, errors, reset, events (IBTA
 * 10.3.1, 11.6.3).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionStatus,
  EventType,
  QpMask,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const MTU = 256;
const { RC_SEND_ONLY, RC_SEND_FIRST, RC_RDMA_READ_RESPONSE_ONLY } = BthOpcode;
const { SUCCESS, FLUSHED } = CompletionStatus;
const one = { inline: Uint8Array.of(1) };
const statuses = (peer: PacketPeer): number[] => peer.qp.parts.sendCq.drain().map(({ status }) => status);

function toDraining(peer: PacketPeer): void {
  const attributeMask = QpMask.STATE | QpMask.SQD_NOTIFY;
  peer.qp.change({ attributeMask, state: QpState.SQD, enableSqdNotify: 1 });
}

t.test('INIT drops packets', async (t) => {
  ledger(t, '10.3.1', 'A QP in INIT drops what it receives');
  const peer = new PacketPeer({ state: 'init' });
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY);
  t.same(peer.take(), []);
  t.notOk(peer.qp.parts.receiveCq.ready);
});

t.test('RTR receives and responds, and establishes communication', async (t) => {
  ledger(t, '10.3.1', 'A QP in RTR receives and responds');
  ledger(t, '11.6.3', 'The first packet for a QP in RTR causes one communication established event');
  const peer = new PacketPeer({ state: 'rtr' });
  peer.fixture.postReceive(peer.qp, 8);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY).request(RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 500', 'ACK 501']);
  t.same(peer.events(), [EventType.COMMUNICATION_ESTABLISHED]);
});

t.test('RTS posts no communication established event', async (t) => {
  ledger(t, '11.6.3', 'A QP in RTS posts no communication established event');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY);
  t.same(peer.events(), []);
});

t.test('SQD finishes begun requests and begins no others', async (t) => {
  ledger(t, '10.3.1', 'In SQD begun requests are finished');
  ledger(t, '10.3.1', 'In SQD no request is begun');
  ledger(t, '11.6.3', 'When all begun requests are complete, the send queue drained event is posted once, on request');
  ledger(t, '10.3.1', 'Back from SQD to RTS, the rest of the send queue is executed');
  const peer = new PacketPeer({ maxReads: 1 });
  const local = peer.fixture.createBuffer(8);
  const read = { opcode: SendOpcode.RDMA_READ, remote: { address: 0, rkey: 1 }, sges: [peer.fixture.sge(local)] };
  peer.qp.post(read);
  peer.qp.post(read);
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 0']);
  toDraining(peer);
  peer.qp.post(one);
  t.same(peer.events(), [], 'something is outstanding');
  peer.respond(RC_RDMA_READ_RESPONSE_ONLY, 0, {}, new Uint8Array(8));
  t.same(statuses(peer), [SUCCESS]);
  t.same(peer.events(), [EventType.SEND_QUEUE_DRAINED]);
  t.same(peer.takeRequests(), []);
  peer.qp.change({ attributeMask: QpMask.STATE, state: QpState.RTS });
  t.same(peer.takeRequests(), ['RDMA_READ_REQUEST 1', 'SEND_ONLY 2']);
  peer.respond(RC_RDMA_READ_RESPONSE_ONLY, 1, {}, new Uint8Array(8));
  peer.acknowledge(2);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
  t.same(peer.events(), []);
});

t.test('SQD without outstanding requests drains at once', async (t) => {
  ledger(t, '11.6.3', 'An idle send queue is drained at once');
  const peer = new PacketPeer();
  toDraining(peer);
  t.same(peer.events(), [EventType.SEND_QUEUE_DRAINED]);
});

t.test('SQD stops neither retries nor the responder', async (t) => {
  ledger(t, '10.3.1', 'In SQD lost packets of begun requests are sent again');
  ledger(t, '10.3.1', 'In SQD the QP receives and responds');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  peer.qp.post(one);
  peer.take();
  toDraining(peer);
  peer.wait(5e6);
  t.same(peer.takeRequests(), ['SEND_ONLY 0']);
  peer.request(RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 500']);
  peer.acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('SQD finishes a message in progress, also after an RNR wait', async (t) => {
  ledger(t, '10.3.1', 'In SQD a message in progress is sent to its end');
  const peer = new PacketPeer();
  const buffer = peer.fixture.createBuffer(100 * MTU);
  peer.qp.post({ sges: [peer.fixture.sge(buffer)] });
  peer.settle();
  toDraining(peer);
  t.equal(peer.take().length, 100);
  peer.receiverNotReady(50, 1).wait(10_000);
  t.equal(peer.take().length, 50);
  peer.acknowledge(99);
  t.same(statuses(peer), [SUCCESS]);
  t.same(peer.events(), [EventType.SEND_QUEUE_DRAINED]);
});

t.test('ERR flushes both queues in order', async (t) => {
  ledger(t, '10.3.1', 'In the error state outstanding sends are flushed in the order of posting');
  ledger(t, '10.3.1', 'In the error state posted receives are flushed in order');
  ledger(t, '10.3.1', 'Sends posted in the error state are flushed too');
  const peer = new PacketPeer();
  for (let count = 0; count < 5; count++) peer.qp.post({ ...one, signaled: false });
  for (let count = 0; count < 3; count++) peer.fixture.postReceive(peer.qp, 8);
  peer.take();
  peer.qp.toError();
  peer.qp.post(one);
  peer.settle();
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status, queueSequence }) => [status, queueSequence]),
    [0, 1, 2, 3, 4, 5].map((sequence) => [FLUSHED, sequence]),
  );
  t.same(
    peer.qp.parts.receiveCq.drain().map(({ status, queueSequence }) => [status, queueSequence]),
    [0, 1, 2].map((sequence) => [FLUSHED, sequence]),
  );
  t.same(peer.events(), [], 'software asked for it');
  peer.fixture.finish();
});

t.test('ERR flushes the entry of a message in progress first', async (t) => {
  ledger(t, '10.3.1', 'The receive entry of a message in progress is flushed before later ones');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 1024);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_FIRST, {}, new Uint8Array(MTU));
  peer.qp.toError();
  t.same(
    peer.qp.parts.receiveCq.drain().map(({ status, queueSequence }) => [status, queueSequence]),
    [
      [FLUSHED, 0],
      [FLUSHED, 1],
    ],
  );
});

t.test('RESET empties the queues and forgets the connection', async (t) => {
  ledger(t, '10.3.1', 'RESET empties both queues without completions');
  ledger(t, '10.3.1', 'After RESET a QP starts with new PSNs and without state of the old connection');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 1024);
  peer.qp.post(one);
  peer.request(RC_SEND_FIRST, {}, new Uint8Array(MTU));
  peer.take();
  peer.qp.toReset();
  t.same(statuses(peer), []);
  t.notOk(peer.qp.parts.receiveCq.ready);
  peer.fixture.finish();
  const connection = { reliable: true, port: 1, dlid: 2, remoteQpn: 0xabcde, pathMtu: 1, sendPsn: 100, receivePsn: 9 };
  peer.qp.connect(connection);
  peer.qp.post(one);
  t.same(peer.takeRequests(), ['SEND_ONLY 0']);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY, { psn: 9 });
  t.same(peer.takeAnswers(), ['ACK 9']);
});

t.test('a failed send moves a UC QP to SQE, an RC QP to ERR', async (t) => {
  ledger(
    t,
    '10.3.1',
    'A failed send of a UC QP stops its send queue (SQE) and flushes the rest; the QP still receives',
  );
  ledger(t, '10.3.1', 'From SQE software brings the QP back to RTS');
  ledger(t, '10.3.1', 'A failed send of an RC QP puts it into the error state');
  const bad = { sges: [{ address: 0, length: 8, lkey: 1 }] };
  for (const serviceType of [ServiceType.UC, ServiceType.RC]) {
    const peer = new PacketPeer({ serviceType });
    peer.qp.post(bad);
    peer.qp.post(one);
    peer.take();
    t.same(statuses(peer), [CompletionStatus.LOCAL_PROTECTION_ERROR, FLUSHED]);
    const { state } = peer.qp.query();
    t.equal(state, serviceType === ServiceType.UC ? QpState.SQE : QpState.ERR);
    if (serviceType === ServiceType.RC) continue;
    peer.fixture.postReceive(peer.qp, 8);
    peer.request(BthOpcode.UC_SEND_ONLY);
    t.equal(peer.qp.parts.receiveCq.drain().length, 1);
    peer.qp.change({ attributeMask: QpMask.STATE, state: QpState.RTS });
    peer.qp.post(one);
    t.same(peer.takeRequests(), ['SEND_ONLY 0']);
    t.same(statuses(peer), [SUCCESS]);
  }
});

t.test('a full send CQ fails the QP', async (t) => {
  ledger(t, '11.6.3', 'A send completion that overflows the CQ puts CQ and QP into error and posts both events');
  const peer = new PacketPeer({ completionEntriesLog2: 0 });
  peer.qp.post(one);
  peer.qp.post(one);
  peer.take();
  peer.acknowledge(1);
  t.equal(peer.qp.query().state, QpState.ERR);
  t.same(peer.events(), [EventType.CQ_ERROR, EventType.QP_FATAL]);
  t.equal(statuses(peer).length, 1);
  peer.fixture.finish();
});

t.test('packets of an inactive port are lost', async (t) => {
  ledger(t, '7.2.7', 'A port that is not active sends no packets; reliable QPs treat that as loss');
  const peer = new PacketPeer({ retryCount: 3 });
  const port = peer.adapter.ports[0];
  port.state = 1;
  peer.qp.post(one);
  peer.wait(5e6);
  t.same(peer.take(), []);
  port.state = 4;
  peer.wait(5e6);
  t.same(peer.takeRequests(), ['SEND_ONLY 0']);
  port.state = 1;
  peer.wait(20e6);
  t.same(statuses(peer), [CompletionStatus.RETRY_EXCEEDED]);
  peer.fixture.finish();
});

t.test('a solicited message causes a solicited event', async (t) => {
  ledger(t, '9.2', 'A solicited message causes a solicited completion event at its receiver');
  const peer = new PacketPeer();
  const cq = peer.qp.parts.receiveCq;
  for (let count = 0; count < 2; count++) peer.fixture.postReceive(peer.qp, 8);
  cq.notify({ solicitedOnly: true });
  peer.request(RC_SEND_ONLY);
  t.same(peer.fixture.events.walk(), []);
  peer.request(RC_SEND_ONLY, { solicited: 1 });
  t.equal(peer.fixture.events.walk().length, 1);
  t.same(
    cq.drain().map(({ solicited }) => solicited),
    [0, 1],
  );
});
