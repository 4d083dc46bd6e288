// SPDX-License-Identifier: Apache-2.0
/** States of connected QPs: which packets each takes and sends, draining, errors, reset, the events that tell. IBTA 10.3.1, 11.6.3. */
import t from 'tap';
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionStatus,
  EventType,
  QpMask,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../test-support/ledger.ts';
import { PacketPeer } from '../test-support/packet-peer.ts';

const MTU = 256;
const { RC_SEND_ONLY, RC_SEND_FIRST, RC_RDMA_READ_RESPONSE_ONLY } = BthOpcode;
const { SUCCESS, FLUSHED } = CompletionStatus;
const one = { inline: Uint8Array.of(1) };
const statuses = (peer: PacketPeer): number[] => peer.qp.parts.sendCq.drain().map(({ status }) => status);

function toDraining(peer: PacketPeer): void {
  const attributeMask = QpMask.STATE | QpMask.SQD_NOTIFY;
  peer.qp.change({ attributeMask, state: QpState.SQD, enableSqdNotify: 1 });
}

t.test('INIT', async (t) => {
  ledger(t, '10.3.1', 'A QP in INIT drops what it receives');
  const peer = new PacketPeer({ state: 'init' });
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY);
  t.same(peer.take(), []);
  t.notOk(peer.qp.parts.receiveCq.ready);
});

t.test('RTR', async (t) => {
  ledger(t, '10.3.1', 'A QP in RTR receives and answers');
  ledger(t, '11.6.3', 'The first packet for a QP in RTR causes one communication established event');
  const peer = new PacketPeer({ state: 'rtr' });
  peer.fixture.postReceive(peer.qp, 8);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY).request(RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 500', 'ACK 501']);
  t.same(peer.events(), [EventType.COMMUNICATION_ESTABLISHED]);
});

t.test('a QP that is in RTS already needs no such event', async (t) => {
  ledger(t, '11.6.3', 'A QP in RTS posts no communication established event');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(RC_SEND_ONLY);
  t.same(peer.events(), []);
});

t.test('SQD: begun work is finished, the rest stays', async (t) => {
  ledger(t, '10.3.1', 'In SQD what was begun is finished');
  ledger(t, '10.3.1', 'In SQD nothing is begun');
  ledger(t, '11.6.3', 'When everything begun is done, the send queue drained event is posted once if asked for');
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

t.test('SQD with nothing outstanding', async (t) => {
  ledger(t, '11.6.3', 'A send queue that is idle has drained at once');
  const peer = new PacketPeer();
  toDraining(peer);
  t.same(peer.events(), [EventType.SEND_QUEUE_DRAINED]);
});

t.test('SQD does not stop retries, nor the responder', async (t) => {
  ledger(t, '10.3.1', 'In SQD what was begun is sent again when it is lost');
  ledger(t, '10.3.1', 'In SQD the QP receives and answers');
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

t.test('SQD in the middle of a message and of an RNR wait', async (t) => {
  ledger(t, '10.3.1', 'In SQD a message of which only a part was sent is sent to its end');
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

t.test('ERR in the middle of a message that is received', async (t) => {
  ledger(t, '10.3.1', 'The receive entry of a message in progress is flushed before those behind it');
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

t.test('RESET forgets everything', async (t) => {
  ledger(t, '10.3.1', 'RESET empties both queues without completions');
  ledger(t, '10.3.1', 'A QP that went through RESET starts with new PSNs, and nothing of the old connection is left');
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

t.test('SQE is for unreliable QPs', async (t) => {
  ledger(t, '10.3.1', 'A failed send of a UC QP stops its send queue (SQE) and flushes the rest; it goes on receiving');
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

t.test('a send CQ that is full', async (t) => {
  ledger(t, '11.6.3', 'A send completion that finds no room puts CQ and QP into error and posts both events');
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

t.test('a port that is not active', async (t) => {
  ledger(t, '7.2.7', 'A port that is not active sends nothing; to reliable QPs that is a loss like any other');
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

t.test('solicited events', async (t) => {
  ledger(t, '9.2', 'A solicited message is one to the completion event handler of its receiver');
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
