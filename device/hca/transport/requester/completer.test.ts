// SPDX-License-Identifier: Apache-2.0
/**
 * The completer alone (IBTA 9.7.5.1, 9.7.6, 9.7.7): what acknowledgements, NAKs and responses do to
 * the records of a requester, how retries are counted, and which packets count as dropped.
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { ackTimeoutNs, CREDITS_UNLIMITED, rnrTimerNs } from '../../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ATOMIC_OFFSET, CompleterFixture, MTU_BYTES, TIMEOUT } from '../../../rig/fixtures/completer-fixture.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { RequestKind } from '../requester-opcodes.ts';
import { RequesterWait } from '../state/requester-state.ts';

const { SEND, READ, ATOMIC } = RequestKind;
const { RC_ATOMIC_ACKNOWLEDGE } = BthOpcode;
const {
  RC_RDMA_READ_RESPONSE_FIRST: FIRST,
  RC_RDMA_READ_RESPONSE_MIDDLE: MIDDLE,
  RC_RDMA_READ_RESPONSE_LAST: LAST,
  RC_RDMA_READ_RESPONSE_ONLY: ONLY,
} = BthOpcode;

t.test('an acknowledgement is for everything up to its PSN (IBTA 9.7.5.1.2)', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 1],
    [SEND, 3],
    [SEND, 1],
  ]);
  t.ok(bench.ack(2));
  t.same(bench.done, [true, false, false]);
  t.same([bench.state.unackedPsn, bench.deadlines], [3, [ackTimeoutNs(TIMEOUT)]], 'the timer starts again');
  t.ok(bench.ack(4));
  t.same(bench.done, [true, true, true]);
  t.same(bench.calls, ['wake', 'off', 'wake']);
  t.equal(bench.completer.acknowledges, 2);
});

t.test('what was acknowledged or never sent is a ghost (IBTA 9.7.5.1.1)', async (t) => {
  const bench = new CompleterFixture([[SEND, 3]]);
  bench.ack(1);
  for (const psn of [0, 1, 3]) t.notOk(bench.ack(psn), `PSN ${psn}`);
  t.equal(bench.completer.ghosts, 3);
  bench.qp.destroyed = true;
  Object.assign(bench.qp, { isRequesting: false });
  t.notOk(bench.ack(2), 'nor does a QP take answers that does not send');
  t.same([bench.completer.ghosts, bench.done], [3, [false]]);
});

t.test('a syndrome of an unknown kind is dropped', async (t) => {
  const bench = new CompleterFixture([[SEND, 1]]);
  t.notOk(bench.answer(0, 2, 0));
  t.same(bench.done, [false]);
});

t.test('a NAK acknowledges what is before it and has the rest sent again, once per loss', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 2],
    [SEND, 2],
  ]);
  t.ok(bench.nak(2));
  t.same([bench.done, bench.state.cursor], [[true, false], bench.records[1]]);
  t.same([bench.state.retriesLeft, bench.completer.retries, bench.completer.naks], [1, 1, 1]);
  t.ok(bench.nak(2));
  t.equal(bench.completer.retries, 1, 'the same loss, reported by a later packet');
  t.ok(bench.nak(3));
  t.same([bench.state.retriesLeft, bench.completer.retries], [1, 2], 'progress restores the retries');
  t.same(bench.failures, []);
});

t.test('PSN 1 has its retry, too', async (t) => {
  const bench = new CompleterFixture([[SEND, 3]]);
  bench.nak(1);
  t.equal(bench.completer.retries, 1);
  const late = new CompleterFixture([[SEND, 3]]);
  late.ack(0);
  late.completer.expire(late.state);
  t.equal(late.completer.retries, 1, 'after a timeout');
});

t.test('without a retry left the oldest record fails (IBTA 9.9.2.4.1)', async (t) => {
  const bench = new CompleterFixture([[SEND, 2]], 1);
  bench.completer.expire(bench.state);
  t.same([bench.completer.timeouts, bench.completer.retries, bench.state.retriesLeft], [1, 1, 0]);
  t.same(bench.deadlines, [ackTimeoutNs(TIMEOUT)]);
  t.same(bench.failures, []);
  bench.completer.expire(bench.state);
  t.same(bench.failures, [[CompletionStatus.RETRY_EXCEEDED, FaultKind.NONE, 0]]);
});

t.test('a timer that expires late does nothing', async (t) => {
  for (const change of [
    (bench: CompleterFixture) => bench.ack(1),
    (bench: CompleterFixture) => Object.assign(bench.qp, { destroyed: true }),
    (bench: CompleterFixture) => Object.assign(bench.qp, { isRequesting: false }),
  ]) {
    const bench = new CompleterFixture([[SEND, 2]]);
    change(bench);
    bench.completer.expire(bench.state);
    t.same([bench.completer.timeouts, bench.completer.retries, bench.failures], [0, 0, []]);
  }
});

t.test('a NAK that refuses the request fails it, behind those that it acknowledges', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 1],
    [SEND, 1],
  ]);
  t.ok(bench.nak(1, NakCode.REMOTE_ACCESS_ERROR));
  t.same(bench.done, [true, false]);
  t.same(bench.failures, [[CompletionStatus.REMOTE_ACCESS_ERROR, FaultKind.NONE, 1]]);
});

t.test('an RNR NAK has the requester wait, then send again (IBTA 9.7.5.2.8)', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 1],
    [SEND, 2],
  ]);
  t.ok(bench.rnr(1, 5));
  t.same([bench.done, bench.state.wait, bench.state.rnrRetriesLeft], [[true, false], RequesterWait.RNR, 0]);
  t.equal(bench.deadlines.at(-1), rnrTimerNs(5));
  t.same(bench.calls.slice(-1), ['return']);
  t.notOk(bench.rnr(1), 'a repeated one carries no news');
  t.equal(bench.completer.rnrNaks, 2);
  bench.calls.length = 0;
  t.ok(bench.nak(1));
  t.same([bench.state.wait, bench.completer.retries], [RequesterWait.RNR, 0], 'nothing is sent before its time');
  bench.completer.expire(bench.state);
  t.same([bench.state.wait, bench.state.cursor, bench.calls], [RequesterWait.NONE, bench.records[1], ['resume']]);
  t.equal(bench.completer.timeouts, 0);
  t.ok(bench.rnr(1));
  t.same(bench.failures, [[CompletionStatus.RNR_RETRY_EXCEEDED, FaultKind.NONE, 1]]);
});

t.test('RNR retries without a limit are not counted; a later packet is refused anew', async (t) => {
  const bench = new CompleterFixture([[SEND, 3]]);
  bench.qp.attributes.rnrRetry = 7;
  for (let count = 0; count < 9; count++) {
    t.ok(bench.rnr(0));
    bench.completer.expire(bench.state);
  }
  t.same(bench.failures, []);
  bench.rnr(0);
  t.ok(bench.rnr(1), 'the first packet was taken meanwhile');
  t.same([bench.state.unackedPsn, bench.state.wait], [1, RequesterWait.RNR]);
  bench.state.cursor = undefined;
  t.ok(bench.ack(1));
  t.equal(bench.state.wait, RequesterWait.NONE, 'a later copy was taken after all');
  t.same([bench.state.cursor, bench.records[0].packetsSent], [bench.records[0], 2], 'the rest is sent again');
});

t.test('READ responses are placed by their PSN; the last one completes the READ', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 1],
    [READ, 3],
    [SEND, 1],
  ]);
  t.ok(bench.respond(FIRST, 1));
  t.same(bench.done, [true, false, false], 'a response acknowledges what is before it');
  t.equal(bench.state.creditsUnlimited, false, 'its AETH grants credits');
  bench.state.limitSequence = 9;
  t.ok(bench.respond(MIDDLE, 2));
  t.equal(bench.state.limitSequence, 9, 'one without AETH grants none');
  t.ok(bench.respond(LAST, 3, 250));
  t.same(bench.scattered, [
    [0, MTU_BYTES],
    [MTU_BYTES, MTU_BYTES],
    [2 * MTU_BYTES, 250],
  ]);
  t.same([bench.done, bench.state.readsOutstanding, bench.state.unackedPsn], [[true, true, false], 0, 4]);
  t.notOk(bench.respond(LAST, 4, 250), 'no READ is outstanding any more');
});

t.test('a response behind a gap has the missing ones asked for; an earlier one is dropped', async (t) => {
  const bench = new CompleterFixture([
    [READ, 4],
    [SEND, 1],
  ]);
  bench.respond(FIRST, 0);
  t.ok(bench.respond(MIDDLE, 2));
  t.same([bench.completer.retries, bench.state.cursor, bench.scattered.length], [1, bench.records[0], 1]);
  t.ok(bench.respond(LAST, 3, 250));
  t.equal(bench.completer.retries, 1, 'one loss');
  t.equal(bench.state.unackedPsn, 1, 'a response behind a gap acknowledges nothing behind the gap');
  t.ok(bench.respond(FIRST, 1), 'the answer to the retry');
  const other = new CompleterFixture([
    [SEND, 2],
    [READ, 2],
  ]);
  t.notOk(other.respond(FIRST, 0), 'no response has the PSN of a SEND');
  t.same([other.scattered, other.done], [[], [false, false]]);
});

t.test('a response that does not match its request fails it (IBTA 9.7.6.2.3)', async (t) => {
  const wrong: [string, RequestKind, BthOpcode, number][] = [
    ['a short first packet', READ, FIRST, MTU_BYTES - 4],
    ['a first packet that is the last', READ, ONLY, MTU_BYTES],
    ['a packet from the middle in the place of the first', READ, MIDDLE, MTU_BYTES],
    ['an atomic result for a READ', READ, RC_ATOMIC_ACKNOWLEDGE, 0],
    ['READ data for an atomic', ATOMIC, ONLY, 8],
  ];
  for (const [name, kind, opcode, lengthBytes] of wrong) {
    const bench = new CompleterFixture([[kind, kind === READ ? 2 : 1]]);
    t.ok(bench.respond(opcode, 0, lengthBytes), name);
    t.same(bench.failures, [[CompletionStatus.BAD_RESPONSE_ERROR, FaultKind.COMMAND_LENGTH, 0]], name);
    t.same([bench.scattered, bench.records[0].responsesReceived], [[], 0], name);
  }
  for (const [kind, opcode] of [
    [READ, FIRST],
    [ATOMIC, RC_ATOMIC_ACKNOWLEDGE],
  ] as const) {
    const bench = new CompleterFixture([[kind, kind === READ ? 2 : 1]]);
    bench.isWritable = false;
    t.ok(bench.respond(opcode, 0));
    t.same(bench.failures, [[CompletionStatus.LOCAL_PROTECTION_ERROR, FaultKind.DMA_WRITE, 0]], 'unwritable memory');
  }
});

t.test('the answer to a READ begins where a request has asked for it, and nowhere else', async (t) => {
  ledger(t, '9.7.6', 'FIRST or ONLY begins the answer to a READ, and what is asked for again, and nothing else');
  for (const [received, requestedFrom, psns, opcode, isOk] of [
    [0, 0, 3, FIRST, true],
    [0, 0, 3, MIDDLE, false],
    [1, 0, 3, MIDDLE, true],
    [1, 0, 3, FIRST, false],
    [1, 1, 3, FIRST, true],
    [1, 1, 3, MIDDLE, true],
    [2, 1, 3, LAST, true],
    [2, 1, 3, ONLY, false],
    [2, 2, 3, ONLY, true],
    [2, 2, 3, LAST, true],
    [2, 2, 3, FIRST, false],
    [2, 2, 3, MIDDLE, false],
    [1, 1, 3, LAST, false],
    [1, 1, 3, ONLY, false],
    [0, 0, 1, ONLY, true],
    [0, 0, 1, LAST, false],
  ] as const) {
    const name = `${psns} responses, ${received} received, asked for from ${requestedFrom} on: ${opcode}`;
    const bench = new CompleterFixture([[READ, psns]]);
    Object.assign(bench.records[0], { responsesReceived: received, requestedFrom });
    bench.state.acknowledge(received);
    bench.respond(opcode, received, received === psns - 1 ? MTU_BYTES - 6 : MTU_BYTES);
    t.equal(bench.failures.length === 0, isOk, name);
    t.equal(bench.scattered.length === 1, isOk, name);
  }
});

t.test('a response with the syndrome of a NAK answers nothing, and grants no credit', async (t) => {
  ledger(t, '9.7.6', 'A response whose syndrome is not that of an ACK ends its request with a bad response error');
  const { RC_RDMA_READ_RESPONSE_LAST } = BthOpcode;
  for (const syndrome of [AethKind.RNR_NAK, 2, AethKind.NAK]) {
    for (const [kind, opcode, received, lengthBytes] of [
      [READ, FIRST, 0, MTU_BYTES],
      [READ, RC_RDMA_READ_RESPONSE_LAST, 1, MTU_BYTES - 6],
      [ATOMIC, RC_ATOMIC_ACKNOWLEDGE, 0, 0],
    ] as const) {
      const bench = new CompleterFixture([[kind, kind === READ ? 2 : 1]]);
      bench.records[0].responsesReceived = received;
      bench.state.acknowledge(received);
      t.ok(bench.respond(opcode, received, lengthBytes, syndrome));
      t.same(bench.failures, [[CompletionStatus.BAD_RESPONSE_ERROR, FaultKind.COMMAND_LENGTH, received]]);
      t.same([bench.scattered, bench.state.creditsUnlimited], [[], true]);
    }
  }
});

t.test('an atomic is complete with its result', async (t) => {
  const bench = new CompleterFixture([[ATOMIC, 1]]);
  bench.ring.bytes.set([1, 2, 3, 4, 5, 6, 7, 8], ATOMIC_OFFSET);
  t.ok(bench.respond(RC_ATOMIC_ACKNOWLEDGE, 0, 0));
  t.same([...bench.source], [8, 7, 6, 5, 4, 3, 2, 1], 'in the byte order of the host');
  t.same([bench.done, bench.scattered, bench.state.readsOutstanding], [[true], [[0, 8]], 0]);
});

t.test('an acknowledgement behind a READ without its responses implies a NAK (IBTA 9.7.5.1.3)', async (t) => {
  const bench = new CompleterFixture([
    [SEND, 1],
    [READ, 3],
    [SEND, 1],
  ]);
  t.ok(bench.ack(4));
  t.same([bench.done, bench.state.unackedPsn], [[true, false, false], 1]);
  t.same([bench.completer.retries, bench.state.cursor], [1, bench.records[1]]);
  t.ok(bench.ack(4));
  t.equal(bench.completer.retries, 1, 'once');
  bench.respond(FIRST, 1);
  t.ok(bench.ack(4));
  t.equal(bench.completer.retries, 2, 'the next loss');
  for (const refuse of [
    (bench: CompleterFixture) => bench.nak(4),
    (bench: CompleterFixture) => bench.rnr(4),
    (bench: CompleterFixture) => bench.nak(4, NakCode.REMOTE_ACCESS_ERROR),
  ]) {
    const refused = new CompleterFixture([
      [SEND, 1],
      [READ, 3],
      [SEND, 1],
    ]);
    t.ok(refuse(refused));
    t.same([refused.completer.retries, refused.state.cursor], [1, refused.records[1]], 'the READ comes first');
    t.same([refused.state.wait, refused.failures], [RequesterWait.NONE, []], 'the refusal counts when it comes again');
  }
  const answered = new CompleterFixture([
    [SEND, 1],
    [READ, 2],
    [SEND, 1],
  ]);
  Object.assign(answered.records[1], { done: true, responsesReceived: 2 });
  answered.ack(3);
  t.same([answered.completer.retries, answered.done], [0, [true, true, true]], 'an answered READ lacks nothing');
  const before = new CompleterFixture([
    [SEND, 2],
    [READ, 1],
    [SEND, 1],
  ]);
  before.ack(1);
  t.same([before.completer.retries, before.done], [0, [true, false, false]], 'up to the READ it implies none');
  const behind = new CompleterFixture([
    [READ, 2],
    [SEND, 1],
  ]);
  behind.respond(FIRST, 0);
  t.ok(behind.nak(1));
  t.equal(behind.completer.retries, 1);
});

t.test('a completion that fails the QP ends everything', async (t) => {
  for (const act of [
    (bench: CompleterFixture) => bench.nak(1),
    (bench: CompleterFixture) => bench.rnr(1),
    (bench: CompleterFixture) => bench.ack(2),
  ]) {
    const bench = new CompleterFixture([
      [SEND, 1],
      [READ, 3],
    ]);
    bench.onDone = () => Object.assign(bench.qp, { isRequesting: false });
    t.ok(act(bench));
    t.same([bench.calls, bench.completer.retries, bench.state.wait], [[], 0, RequesterWait.NONE]);
  }
  const bench = new CompleterFixture([
    [SEND, 1],
    [READ, 3],
  ]);
  bench.onDone = () => Object.assign(bench.qp, { isRequesting: false });
  t.ok(bench.respond(FIRST, 1));
  t.same(bench.scattered, []);
});

t.test('progress ends a wait, except that for the report of a failure', async (t) => {
  for (const [wait, after, calls] of [
    [RequesterWait.NONE, RequesterWait.NONE, ['wake']],
    [RequesterWait.FENCE, RequesterWait.NONE, ['resume']],
    [RequesterWait.CREDIT, RequesterWait.NONE, ['resume']],
    [RequesterWait.FAULT, RequesterWait.FAULT, []],
  ] as const) {
    const bench = new CompleterFixture([[SEND, 2]]);
    bench.state.wait = wait;
    bench.ack(0);
    t.same([bench.state.wait, bench.calls], [after, calls]);
  }
});

t.test('credits: a limit of messages, or none (IBTA 9.7.7.2)', async (t) => {
  const bench = new CompleterFixture([[SEND, 3]]);
  bench.ack(0, 2, 10);
  t.match(bench.state, { creditsUnlimited: false, limitSequence: 12 });
  bench.ack(1, CREDITS_UNLIMITED, 20);
  t.match(bench.state, { creditsUnlimited: true, limitSequence: 12 });
});

t.test('the newest acknowledgement once more grants further credits', async (t) => {
  for (const [name, act, taken, limit] of [
    ['more', (bench: CompleterFixture) => bench.ack(1, 3, 10), true, 13],
    ['as many', (bench: CompleterFixture) => bench.ack(1, 2, 10), false, 12],
    ['fewer: a late copy', (bench: CompleterFixture) => bench.ack(1, 1, 10), false, 12],
    ['without limit', (bench: CompleterFixture) => bench.ack(1, CREDITS_UNLIMITED, 10), true, 12],
    ['an older one', (bench: CompleterFixture) => bench.ack(0, 3, 10), false, 12],
    ['a NAK', (bench: CompleterFixture) => bench.answer(1, AethKind.NAK, 0, 30), false, 12],
    ['a READ response', (bench: CompleterFixture) => bench.respond(ONLY, 1), false, 12],
  ] as const) {
    const bench = new CompleterFixture([
      [SEND, 2],
      [SEND, 1],
    ]);
    bench.ack(1, 2, 10);
    bench.state.wait = RequesterWait.CREDIT;
    bench.calls.length = 0;
    t.equal(act(bench), taken, name);
    t.equal(bench.state.limitSequence, limit, name);
    t.same(
      [bench.state.wait, bench.calls],
      taken ? [RequesterWait.NONE, ['resume']] : [RequesterWait.CREDIT, []],
      name,
    );
    t.equal(bench.completer.ghosts, taken ? 0 : 1, name);
  }
  const bench = new CompleterFixture([
    [SEND, 2],
    [SEND, 1],
  ]);
  bench.ack(1, 2, 10);
  bench.state.wait = RequesterWait.RNR;
  t.ok(bench.ack(1, 3, 10));
  t.equal(bench.state.wait, RequesterWait.RNR, 'credits end the wait for credits only');
});
