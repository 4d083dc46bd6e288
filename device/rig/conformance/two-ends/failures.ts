// SPDX-License-Identifier: Apache-2.0
/**
 * RC between two ends with requests that are refused, or without a receive entry or peer: the
 * connection fails, and the next one works (IBTA 9.9.2, 9.9.3). Cases of `suite.ts`.
 */
import { strict as assert } from 'node:assert';
import { CompletionStatus, QpState, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { assertBytes, type Ends, expectStatus } from './ends.ts';
import type { TwoEndsCase } from './two-ends-case.ts';

/** RNR timer code of 40 ms: enough time to post a receive entry before the repetition. */
const LONG_RNR_TIMER = 24;
const SHORT_TIMEOUT = 8;

// The cases with a NAK need a lossless link: a lost NAK makes the requester run out of retries.
export const failureCases: readonly TwoEndsCase[] = [
  { name: 'RC: a SEND waits until a receive entry is posted', run: receiverNotReady },
  { name: 'RC: a SEND that never finds a receive entry fails', run: receiverNeverReady },
  { name: 'RC: a request to a destroyed QP fails, later ones are flushed', run: peerGone },
  { name: 'RC: a bad R_Key fails the request and both QPs', losslessOnly: true, run: badKey },
  { name: 'RC: a SEND that is too long for its receive entry fails both', losslessOnly: true, run: tooLong },
];

/** Checks that a new connection works. */
function checkNewConnection(ends: Ends): void {
  ends.proveNothingIsLeft(ends.connect());
}

function receiverNotReady(ends: Ends): void {
  const pair = ends.connect({ minRnrTimer: LONG_RNR_TIMER });
  const source = ends.a.buffer(ends.random.bytes(3000));
  const target = ends.b.buffer(3000);
  const before = ends.a.packetsReceived;
  pair.a.post({ sges: [ends.a.sge(source)] });
  ends.waitFor(() => ends.a.packetsReceived !== before, 'an RNR NAK');
  assert.ok(!pair.a.parts.sendCq.ready);
  pair.b.postReceive([ends.b.sge(target)]);
  ends.sent(pair.a);
  ends.received(pair.b);
  assertBytes(target.bytes, source.bytes, 'the message');
  ends.proveNothingIsLeft(pair);
}

function receiverNeverReady(ends: Ends): void {
  const { a, b } = ends.connect({ rnrRetry: 2 });
  a.post({ sges: [ends.a.sge(ends.a.buffer(8))] });
  expectStatus(a.parts.sendCq.take(), CompletionStatus.RNR_RETRY_EXCEEDED);
  assert.equal(a.query().state, QpState.ERR);
  assert.equal(b.query().state, QpState.RTS, 'the responder has done nothing wrong');
  checkNewConnection(ends);
}

function peerGone(ends: Ends): void {
  const { a, b } = ends.connect({ timeout: SHORT_TIMEOUT, retryCount: 2 });
  b.destroy();
  for (let index = 0; index < 3; index++) a.post({ sges: [ends.a.sge(ends.a.buffer(8))] });
  expectStatus(a.parts.sendCq.take(), CompletionStatus.RETRY_EXCEEDED);
  for (let index = 0; index < 2; index++) expectStatus(a.parts.sendCq.take(), CompletionStatus.FLUSHED);
  assert.equal(a.query().state, QpState.ERR);
  checkNewConnection(ends);
}

function badKey(ends: Ends): void {
  for (const opcode of [SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ, SendOpcode.FETCH_ADD] as const) {
    const { a, b } = ends.connect();
    const lengthBytes = opcode === SendOpcode.FETCH_ADD ? 8 : 5000;
    const content = ends.random.bytes(lengthBytes);
    const [local, remote] = [ends.a.buffer(content), ends.b.buffer(lengthBytes)];
    const atomic = opcode === SendOpcode.FETCH_ADD ? { atomic: { swapOrAdd: 1n } } : {};
    a.post({ ...ends.rdma(opcode, local, remote, ends.b.region.rkey ^ 0xff), ...atomic });
    a.post(ends.rdma(SendOpcode.RDMA_WRITE, local, remote));
    expectStatus(a.parts.sendCq.take(), CompletionStatus.REMOTE_ACCESS_ERROR);
    expectStatus(a.parts.sendCq.take(), CompletionStatus.FLUSHED);
    assert.deepEqual([a.query().state, b.query().state], [QpState.ERR, QpState.ERR]);
    assertBytes(remote.bytes, new Uint8Array(lengthBytes), 'remote memory');
    assertBytes(local.bytes, content, 'local memory');
  }
  checkNewConnection(ends);
}

function tooLong(ends: Ends): void {
  const { a, b } = ends.connect({ pathMtu: 1 });
  b.postReceive([ends.b.sge(ends.b.buffer(600))]);
  a.post({ sges: [ends.a.sge(ends.a.buffer(601))] });
  expectStatus(a.parts.sendCq.take(), CompletionStatus.REMOTE_INVALID_REQUEST_ERROR);
  expectStatus(b.parts.receiveCq.take(), CompletionStatus.LOCAL_LENGTH_ERROR);
  checkNewConnection(ends);
}
