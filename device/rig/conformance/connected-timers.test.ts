// SPDX-License-Identifier: Apache-2.0
/**
 * The two timers of a requester, for every code (IBTA 9.7.5.2.8, 9.7.6.1.3). The times are copies
 * of the specification's tables, to check those of the device.
 */
import t from 'tap';
import { rnrTimerNs } from '../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const HOUR_NS = 3600e9;
/** RNR NAK delay by timer code, ms. */
const RNR_TIMERS_MS = [
  655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12,
  7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
];

const sends = (...psns: number[]): string[] => psns.map((psn) => `SEND_ONLY ${psn}`);

/** A peer whose QP has sent two SENDs; the peer has taken them. */
function sent(timeout: number): PacketPeer {
  const peer = new PacketPeer({ timeout });
  for (let index = 0; index < 2; index++) peer.qp.post({ inline: Uint8Array.of(index) });
  peer.take();
  return peer;
}

for (const [code, milliseconds] of RNR_TIMERS_MS.entries()) {
  t.test(`RNR timer code ${code}: ${milliseconds} ms`, async (t) => {
    ledger(
      t,
      '9.7.5.2.8',
      `After an RNR NAK with timer code ${code} the requester waits ${milliseconds} ms and sends again`,
    );
    const waitNs = Math.round(milliseconds * 1e6);
    t.equal(rnrTimerNs(code), waitNs);
    const peer = sent(0);
    peer.receiverNotReady(0, code).wait(waitNs - 1);
    t.same(peer.takeRequests(), [], 'not sooner');
    peer.wait(1);
    t.same(peer.takeRequests(), sends(0, 1));
  });
}

t.test('local ACK timeouts 1 to 31 last 4.096 us * 2^code', async (t) => {
  ledger(
    t,
    '9.7.6.1.3',
    'The local ACK timeout is 4.096 us times 2 to the power of its code, from 8.192 us to 2.4 hours',
  );
  for (let code = 1, timeoutNs = 8192; code < 32; code++, timeoutNs *= 2) {
    const peer = sent(code);
    peer.wait(timeoutNs - 1);
    t.same(peer.takeRequests(), [], `code ${code}: not sooner than ${timeoutNs} ns`);
    peer.wait(1);
    t.same(peer.takeRequests(), sends(0, 1), `code ${code}: then`);
  }
});

t.test('local ACK timeout 0 is no timeout', async (t) => {
  ledger(t, '9.7.6.1.3', 'Local ACK timeout 0 disables the timer');
  const peer = sent(0);
  peer.wait(24 * HOUR_NS);
  t.same(peer.takeRequests(), []);
  peer.acknowledge(1);
  t.same(
    peer.qp.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS, CompletionStatus.SUCCESS],
  );
});

t.test('a timeout changed in SQD applies to the next packets', async (t) => {
  ledger(t, '11.2.5.2', 'A timeout changed in SQD applies to the next packets');
  const peer = sent(20);
  const { qp } = peer;
  peer.acknowledge(1);
  qp.change({ attributeMask: QpMask.STATE, state: QpState.SQD });
  qp.change({ attributeMask: QpMask.TIMEOUT, timeout: 5 });
  qp.change({ attributeMask: QpMask.STATE, state: QpState.RTS });
  qp.post({ inline: Uint8Array.of(1) });
  t.same(peer.takeRequests(), sends(2));
  peer.wait(4096 * 32 - 1);
  t.same(peer.takeRequests(), []);
  peer.wait(1);
  t.same(peer.takeRequests(), sends(2));
});
