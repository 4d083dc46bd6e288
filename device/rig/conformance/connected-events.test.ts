// SPDX-License-Identifier: Apache-2.0
/**
 * The asynchronous events of QPs, once each: failures, draining, shared receive queues, established
 * communication (IBTA 11.6.3).
 */
import t, { type Test } from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { CompletionStatus, EventType, FaultKind, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const op = BthOpcode;
const MTU = 256;
/** An address without memory. */
const NOWHERE = 0x10;

/** Asserts that there is one event for the QP, and one fault with its cause. */
function isReportedOnce(t: Test, peer: PacketPeer, eventType: EventType, cause: FaultKind): void {
  const events = peer.fixture.asynchronous.walk();
  t.same(
    events.map((event) => [event.eventType, event.objectNumber]),
    [[eventType, peer.qp.qpn]],
  );
  t.ok(peer.fixture.faults(cause) > 0, 'the cause is counted');
  peer.qp.toError();
  t.same(peer.events(), [], 'and no further event');
  peer.fixture.finish();
}

/** RETH of a valid key whose memory is not mapped. */
function unmapped(peer: PacketPeer) {
  const { fixture } = peer;
  const region = { pd: fixture.pd, access: FULL_ACCESS, startAddress: NOWHERE, length: 4 * MTU };
  const { rkey: rKey } = fixture.driver.createMemoryRegion(region);
  return { virtualAddressHigh: 0, virtualAddressLow: NOWHERE, rKey, dmaLength: 2 * MTU };
}

for (const [name, opcode, payload, cause] of [
  ['RDMA WRITE', op.RC_RDMA_WRITE_FIRST, MTU, FaultKind.DMA_WRITE],
  ['RDMA READ', op.RC_RDMA_READ_REQUEST, 0, FaultKind.DMA_READ],
  ['atomic', op.RC_FETCH_ADD, 0, FaultKind.DMA_READ],
] as const) {
  t.test(`QP fatal: ${name}`, async (t) => {
    ledger(
      t,
      '11.6.3',
      `A responder that cannot reach its memory for an ${name} answers with a remote operational error and posts QP fatal`,
    );
    const peer = new PacketPeer();
    peer.request(opcode, unmapped(peer), new Uint8Array(payload));
    t.same(peer.takeAnswers(), [`NAK ${NakCode.REMOTE_OPERATIONAL_ERROR} 500`]);
    t.equal(peer.qp.query().state, QpState.ERR);
    isReportedOnce(t, peer, EventType.QP_FATAL, cause);
  });
}

t.test('an invalid request posts the request error event', async (t) => {
  ledger(t, '11.6.3', 'An invalid request posts the request error event for the QP that refused it');
  const peer = new PacketPeer();
  peer.request(op.RC_SEND_MIDDLE, {}, new Uint8Array(MTU));
  isReportedOnce(t, peer, EventType.QP_REQUEST_ERROR, FaultKind.COMMAND_OPCODE);
});

t.test('an access violation posts the access error event', async (t) => {
  ledger(t, '11.6.3', 'An access violation posts the access error event for the QP that refused it');
  const peer = new PacketPeer();
  peer.request(op.RC_RDMA_WRITE_ONLY, { rKey: 0x55, dmaLength: 4 }, new Uint8Array(4));
  isReportedOnce(t, peer, EventType.QP_ACCESS_ERROR, FaultKind.KEY_INVALID);
});

t.test('a failure reported by a completion posts no event', async (t) => {
  ledger(t, '11.6.3', 'A QP that fails because of its own request or receive entry posts no event');
  const sender = new PacketPeer({ retryCount: 0 });
  sender.qp.post({ inline: Uint8Array.of(1) });
  sender.take();
  sender.wait(5e6);
  t.equal(sender.qp.parts.sendCq.poll()?.status, CompletionStatus.RETRY_EXCEEDED);
  t.same(sender.events(), []);
  const receiver = new PacketPeer();
  receiver.fixture.postReceive(receiver.qp, 1);
  receiver.request(op.RC_SEND_ONLY, {}, new Uint8Array(4));
  t.equal(receiver.qp.parts.receiveCq.poll()?.status, CompletionStatus.LOCAL_LENGTH_ERROR);
  t.same(receiver.events(), []);
});

t.test('a failed QP with an SRQ posts last WQE reached', async (t) => {
  ledger(
    t,
    '11.6.3',
    'A QP with an SRQ that fails posts last WQE reached after its entry has completed, beside the event with the cause',
  );
  const peer = new PacketPeer({ shared: true });
  const { fixture, qp, srq } = peer;
  for (let entry = 0; entry < 2; entry++) srq?.postReceive([fixture.sge(fixture.createBuffer(1024))]);
  peer.request(op.RC_SEND_FIRST, {}, new Uint8Array(MTU)).request(op.RC_SEND_FIRST, {}, new Uint8Array(MTU));
  const [entry, more] = qp.parts.receiveCq.drain();
  t.match(entry, { status: CompletionStatus.REMOTE_INVALID_REQUEST_ERROR, queueSequence: 0 });
  t.equal(more, undefined, 'the other entry is for others');
  t.same(peer.events(), [EventType.LAST_WQE_REACHED, EventType.QP_REQUEST_ERROR]);
  qp.toError();
  t.same(peer.events(), [], 'once');
  const failing = new PacketPeer({ shared: true, retryCount: 0 });
  failing.qp.post({ inline: Uint8Array.of(1) });
  failing.take();
  failing.wait(5e6);
  t.same(failing.events(), [EventType.LAST_WQE_REACHED], 'a failed send ends receiving, too');
});

t.test('send queue drained is posted on each request', async (t) => {
  ledger(t, '11.6.3', 'Send queue drained is posted on request only, once for each request');
  const peer = new PacketPeer();
  const toDraining = (enableSqdNotify: number) =>
    peer.qp.change({ attributeMask: QpMask.STATE | QpMask.SQD_NOTIFY, state: QpState.SQD, enableSqdNotify });
  for (const asked of [0, 1, 0, 1]) {
    peer.qp.post({ inline: Uint8Array.of(1) });
    const { psn } = peer.takeOne();
    toDraining(asked);
    t.same(peer.events(), []);
    peer.acknowledge(psn - peer.firstPsn);
    t.same(peer.events(), asked ? [EventType.SEND_QUEUE_DRAINED] : []);
    peer.qp.change({ attributeMask: QpMask.STATE, state: QpState.RTS });
  }
});

t.test('communication established is posted once per connection', async (t) => {
  ledger(
    t,
    '11.6.3',
    'Communication established is posted once for each connection, also for a first packet out of sequence',
  );
  const peer = new PacketPeer({ state: 'rtr' });
  peer.request(op.RC_SEND_ONLY, { psn: 700 }).request(op.RC_SEND_ONLY, { psn: 701 });
  t.same(peer.events(), [EventType.COMMUNICATION_ESTABLISHED]);
  peer.qp.toReset();
  const again = { reliable: true, port: 1, dlid: peer.fixture.lidOf(2), remoteQpn: 0xabcde };
  peer.qp.toConnectedInit(again);
  peer.request(op.RC_SEND_ONLY, { psn: 700 });
  t.same(peer.events(), [], 'not in INIT');
  peer.qp.toConnectedReceive(again);
  peer.request(op.RC_SEND_ONLY, { psn: 700 });
  t.same(peer.events(), [EventType.COMMUNICATION_ESTABLISHED], 'a new connection');
});
