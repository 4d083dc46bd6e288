// SPDX-License-Identifier: Apache-2.0
/**
 * The requester's reaction to ACKs, NAKs, RNR NAKs and missing responses (IBTA 9.7.5.2, 9.7.6,
 * 9.9.2).
 */
import t from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { rnrTimerNs } from '../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer, type PeerOptions } from '../fixtures/packet-peer.ts';

const MTU = 256;
const { SUCCESS, FLUSHED, RETRY_EXCEEDED, RNR_RETRY_EXCEEDED } = CompletionStatus;
/** Timeout code 10: 4.096 us * 2^10. */
const TIMEOUT_NS = 4096 * 2 ** 10;

function statuses(peer: PacketPeer): number[] {
  return peer.qp.parts.sendCq.drain().map(({ status }) => status);
}

/** A peer whose QP has sent `count` SENDs of one packet; the peer has taken them. */
function sent(count: number, options: PeerOptions = {}): PacketPeer {
  const peer = new PacketPeer(options);
  for (let index = 0; index < count; index++) peer.qp.post({ inline: Uint8Array.of(index) });
  peer.take();
  return peer;
}

const sends = (...psns: number[]): string[] => psns.map((psn) => `SEND_ONLY ${psn}`);

t.test('a request completes only after its acknowledgement', async (t) => {
  ledger(t, '9.7.6', 'A request of a reliable QP completes only after its acknowledgement');
  const peer = sent(2);
  t.same(statuses(peer), []);
  peer.acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
  peer.acknowledge(1);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a coalesced acknowledgement completes all requests up to its PSN', async (t) => {
  ledger(t, '9.7.6', 'An acknowledgement completes every request up to its PSN');
  const peer = sent(5);
  peer.acknowledge(3);
  t.same(statuses(peer), [SUCCESS, SUCCESS, SUCCESS, SUCCESS]);
});

t.test('an acknowledgement of a packet in the middle of a message completes nothing', async (t) => {
  ledger(t, '9.7.6', 'A message of several packets completes with the acknowledgement of its last packet');
  const peer = new PacketPeer();
  const buffer = peer.fixture.createBuffer(3 * MTU);
  peer.qp.post({ sges: [peer.fixture.sge(buffer)] });
  peer.take();
  peer.acknowledge(1);
  t.same(statuses(peer), []);
  peer.acknowledge(2);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('duplicate acknowledgements and those of PSNs never sent are ignored', async (t) => {
  ledger(t, '9.7.6', 'A duplicate acknowledgement is ignored');
  ledger(t, '9.7.6', 'An acknowledgement of a PSN that was never sent is ignored');
  const peer = sent(2);
  peer.acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
  peer.acknowledge(0).acknowledge(-1).acknowledge(2).acknowledge(1000).nak(0, NakCode.REMOTE_ACCESS_ERROR);
  t.same(statuses(peer), []);
  t.equal(peer.adapter.engine.connected.completer.ghosts, 5);
  t.equal(peer.qp.query().state, QpState.RTS);
});

t.test('an acknowledgement of a packet that still waits for the port is ignored', async (t) => {
  ledger(t, '9.7.6', 'An acknowledgement of a packet not yet sent is ignored, though its message is begun');
  const peer = new PacketPeer();
  const buffer = peer.fixture.createBuffer(100 * MTU);
  peer.qp.post({ sges: [peer.fixture.sge(buffer)] });
  peer.settle().acknowledge(99);
  t.same(statuses(peer), []);
  t.equal(peer.take().length, 100, 'all of it is sent');
  peer.acknowledge(99);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a sequence NAK makes the requester send again from its PSN on', async (t) => {
  ledger(t, '9.7.5.2', 'A NAK for a sequence error acknowledges the packets before its PSN');
  ledger(t, '9.9.2', 'After a NAK for a sequence error all packets from its PSN on are sent again');
  const peer = sent(4);
  peer.nak(2, NakCode.PSN_SEQUENCE_ERROR);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
  t.same(peer.takeRequests(), sends(2, 3));
  peer.acknowledge(3);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
});

t.test('a sequence NAK in the middle of a message repeats the message from there', async (t) => {
  ledger(t, '9.9.2', 'A message is sent again from the missing packet, not from its start');
  const peer = new PacketPeer();
  const content = peer.fixture.random.bytes(4 * MTU);
  peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(content))] });
  peer.take();
  peer.nak(2, NakCode.PSN_SEQUENCE_ERROR);
  const again = peer.take();
  t.same(
    again.map(({ name, psn }) => `${name} ${psn}`),
    ['SEND_MIDDLE 102', 'SEND_LAST 103'],
  );
  t.same(again[0]?.payload, content.subarray(2 * MTU, 3 * MTU));
});

t.test('a duplicate sequence NAK causes no further attempt', async (t) => {
  ledger(t, '9.9.2', 'A duplicate NAK does not count as another attempt');
  const peer = sent(3, { retryCount: 1 });
  for (let copy = 0; copy < 3; copy++) peer.nak(1, NakCode.PSN_SEQUENCE_ERROR);
  t.same(peer.takeRequests(), sends(1, 2));
  peer.acknowledge(2);
  t.same(statuses(peer), [SUCCESS, SUCCESS, SUCCESS]);
});

for (const [code, status, name] of [
  [NakCode.INVALID_REQUEST, CompletionStatus.REMOTE_INVALID_REQUEST_ERROR, 'an invalid request'],
  [NakCode.REMOTE_ACCESS_ERROR, CompletionStatus.REMOTE_ACCESS_ERROR, 'a remote access error'],
  [NakCode.REMOTE_OPERATIONAL_ERROR, CompletionStatus.REMOTE_OPERATION_ERROR, 'a remote operational error'],
] as const) {
  t.test(`a NAK for ${name} ends the request and flushes the others`, async (t) => {
    ledger(t, '11.6.2', `A NAK for ${name} ends the request it names with that status`);
    ledger(t, '10.3.1', `After a NAK for ${name} all later requests are flushed and the QP is in error`);
    const peer = sent(3);
    peer.nak(1, code);
    t.same(statuses(peer), [SUCCESS, status, FLUSHED]);
    t.equal(peer.qp.query().state, QpState.ERR);
    t.same(peer.takeRequests(), []);
    peer.fixture.finish();
  });
}

t.test('without a response all packets are sent again after the timeout', async (t) => {
  ledger(t, '9.7.6.1.3', 'All packets that are not acknowledged within the timeout are sent again');
  const peer = sent(2);
  peer.wait(TIMEOUT_NS - 1);
  t.same(peer.takeRequests(), []);
  peer.wait(1);
  t.same(peer.takeRequests(), sends(0, 1));
  t.equal(peer.adapter.engine.connected.completer.timeouts, 1);
});

t.test('an acknowledgement restarts the timeout', async (t) => {
  ledger(t, '9.7.6.1.3', 'An acknowledgement restarts the timeout');
  const peer = sent(2);
  peer
    .wait(TIMEOUT_NS - 10)
    .acknowledge(0)
    .wait(TIMEOUT_NS - 10);
  t.same(peer.takeRequests(), []);
  peer.wait(10);
  t.same(peer.takeRequests(), sends(1));
});

t.test('no timer runs while nothing is outstanding', async (t) => {
  ledger(t, '9.7.6.1.3', 'No timeout runs while nothing is outstanding');
  const peer = sent(1);
  peer.acknowledge(0).wait(100 * TIMEOUT_NS);
  t.same(peer.takeRequests(), []);
  t.equal(peer.adapter.engine.connected.completer.timeouts, 0);
});

for (const retryCount of [0, 3, 7]) {
  t.test(`a request fails after retry count ${retryCount}`, async (t) => {
    ledger(t, '9.9.2', `A request is sent ${1 + retryCount} times with retry count ${retryCount}, then fails`);
    const peer = sent(2, { retryCount });
    for (let retry = 0; retry < retryCount; retry++) {
      peer.wait(TIMEOUT_NS);
      t.same(peer.takeRequests(), sends(0, 1));
    }
    t.same(statuses(peer), []);
    peer.wait(TIMEOUT_NS);
    t.same(statuses(peer), [RETRY_EXCEEDED, FLUSHED]);
    t.same(peer.takeRequests(), []);
    t.equal(peer.qp.query().state, QpState.ERR);
    peer.fixture.finish();
  });
}

t.test('an acknowledgement of new packets resets the retry counter', async (t) => {
  ledger(t, '9.9.2', 'Each acknowledgement of new packets resets the retry counter');
  const peer = sent(4, { retryCount: 1 });
  for (let psn = 0; psn < 3; psn++) {
    peer.wait(TIMEOUT_NS).take();
    peer.acknowledge(psn);
  }
  t.same(statuses(peer), [SUCCESS, SUCCESS, SUCCESS]);
});

t.test('a late acknowledgement counts after the timeout', async (t) => {
  ledger(t, '9.7.6', 'A late acknowledgement counts although the request has been sent again');
  ledger(t, '9.7.6', 'The acknowledgement of the unnecessary repetition is ignored');
  const peer = sent(2);
  peer.wait(TIMEOUT_NS).acknowledge(1);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
  peer.take();
  peer.acknowledge(1);
  t.same(statuses(peer), []);
});

t.test('no request is begun during an RNR wait', async (t) => {
  ledger(t, '9.7.5.2.8', 'A requester that waits after an RNR NAK begins no request');
  ledger(t, '9.7.5.2.8', 'The timeout does not fire during an RNR wait');
  const peer = sent(1, { timeout: 1 });
  peer.receiverNotReady(0, 20);
  peer.qp.post({ inline: Uint8Array.of(1) });
  peer.wait(rnrTimerNs(20) - 1);
  t.same(peer.takeRequests(), []);
  peer.wait(1);
  t.same(peer.takeRequests(), sends(0, 1));
});

t.test('an RNR NAK acknowledges the packets before it', async (t) => {
  ledger(t, '9.7.5.2.8', 'An RNR NAK acknowledges the packets before its PSN');
  const peer = sent(3);
  peer.receiverNotReady(2, 1);
  t.same(statuses(peer), [SUCCESS, SUCCESS]);
  peer.wait(rnrTimerNs(1));
  t.same(peer.takeRequests(), sends(2));
});

for (const rnrRetry of [0, 2, 6]) {
  t.test(`a request fails after RNR retry ${rnrRetry}`, async (t) => {
    ledger(t, '9.9.2', `With RNR retry ${rnrRetry} the ${rnrRetry + 1}. RNR NAK in a row ends the request`);
    const peer = sent(2, { rnrRetry });
    for (let retry = 0; retry < rnrRetry; retry++) {
      peer.receiverNotReady(0, 1).wait(rnrTimerNs(1));
      t.same(peer.takeRequests(), sends(0, 1));
    }
    peer.receiverNotReady(0, 1);
    t.same(statuses(peer), [RNR_RETRY_EXCEEDED, FLUSHED]);
    peer.fixture.finish();
  });
}

t.test('RNR retry 7 is unlimited', async (t) => {
  ledger(t, '9.9.2', 'RNR retry 7 is without end');
  const peer = sent(1, { rnrRetry: 7 });
  for (let retry = 0; retry < 50; retry++) peer.receiverNotReady(0, 1).wait(rnrTimerNs(1));
  t.equal(peer.takeRequests().length, 50);
  peer.acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a duplicate RNR NAK during the wait does not count', async (t) => {
  ledger(t, '9.7.5.2.8', 'A duplicate RNR NAK during the wait does not count');
  const peer = sent(1, { rnrRetry: 1 });
  peer.receiverNotReady(0, 5).receiverNotReady(0, 5).wait(rnrTimerNs(5));
  t.same(peer.takeRequests(), sends(0));
});

t.test('an acknowledgement ends the RNR wait', async (t) => {
  ledger(t, '9.7.5.2.8', 'An acknowledgement of the refused request ends the wait');
  const peer = sent(2, { timeout: 0 });
  peer.receiverNotReady(0, 0).acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
  t.same(peer.takeRequests(), sends(1), 'what the responder dropped is sent again');
  peer.acknowledge(1);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('unexpected read responses and atomic acknowledgements are ignored', async (t) => {
  ledger(t, '9.7.6', 'An unexpected read response or atomic acknowledgement is ignored');
  const peer = sent(1);
  peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_ONLY, 0, {}, new Uint8Array(8));
  peer.respond(BthOpcode.RC_ATOMIC_ACKNOWLEDGE, 0);
  peer.respond(BthOpcode.RC_ACKNOWLEDGE, 0, { syndromeKind: 2 });
  t.same(statuses(peer), []);
  t.equal(peer.qp.query().state, QpState.RTS);
  peer.acknowledge(0);
  t.same(statuses(peer), [SUCCESS]);
});

t.test('a QP in error drops acknowledgements', async (t) => {
  ledger(t, '10.3.1', 'Acknowledgements to a QP in error are dropped');
  const peer = sent(1);
  peer.qp.toError();
  t.same(statuses(peer), [FLUSHED]);
  peer.acknowledge(0);
  t.same(statuses(peer), []);
});
