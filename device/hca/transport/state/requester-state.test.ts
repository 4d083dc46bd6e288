// SPDX-License-Identifier: Apache-2.0
/**
 * The state of a requester and the tables of its operations (IBTA 9.7.1 to 9.7.3; tables 36 and
 * 38): how many commands are taken, which PSNs are outstanding, and where a retry begins.
 */
import t from 'tap';
import { SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { Step } from '../../function/timeline.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { needsCredit, RequestKind, requestKind } from '../requester-opcodes.ts';
import { RECORDS_PER_QUEUE_PAIR, RequesterState, RequesterWait } from './requester-state.ts';
import { SendRecord } from './send-record.ts';

/**
 * A state with records of these kinds and numbers of PSNs, from PSN 0xfffffe on; the last one has
 * not begun.
 */
function makeState(records: readonly (readonly [RequestKind, number])[]) {
  const steps: number[] = [];
  const timeline = { note: (step: number, _function: number, _qp: number, psn: number) => steps.push(step, psn) };
  const qp = { number: 1, owner: { number: 0, timeline }, attributes: { retryCount: 3, rnrRetry: 4 } };
  const state = new RequesterState(qp as unknown as QueuePair);
  state.start(0xfffffe);
  const made = records.map(([kind, psns], index) => {
    const record = Object.assign(new SendRecord(), { kind });
    state.append(record);
    if (index < records.length - 1) {
      record.number(state.nextPsn, psns);
      state.nextPsn = (state.nextPsn + psns) & 0xffffff;
      record.packetsSent = psns;
      state.cursor = undefined;
    }
    return record;
  });
  state.cursor = made.at(-1);
  return { state, made, steps };
}

t.test('a QP takes commands up to its number of records, and none while it waits', async (t) => {
  const { state } = makeState([]);
  for (let count = 0; count < RECORDS_PER_QUEUE_PAIR; count++) {
    t.ok(state.acceptsCommands);
    state.append(new SendRecord());
  }
  t.notOk(state.acceptsCommands);
  const { oldest } = state;
  t.equal(state.cursor, oldest);
  t.equal(state.shift(), oldest);
  t.equal(state.cursor, oldest?.next, 'the next one is sent when the first one ends unsent');
  t.ok(state.acceptsCommands);
  state.wait = RequesterWait.FENCE;
  t.notOk(state.acceptsCommands);
});

t.test('records leave in the order in which they came, also while others come', async (t) => {
  const { state } = makeState([]);
  const [a, b, c, d] = [1, 2, 3, 4].map((sequence) => Object.assign(new SendRecord(), { sequence }));
  for (const record of [a, b]) state.append(record);
  t.equal(state.shift(), a);
  state.append(c);
  t.same([state.oldest, state.newest, state.shift(), state.shift(), state.shift()], [b, c, b, c, undefined]);
  state.append(d);
  t.same([state.oldest, state.newest, state.shift()], [d, d, d], 'an empty queue begins anew');
});

t.test('a retry names the records of which packets are sent again, and how many were sent', async (t) => {
  const { SEND, READ } = RequestKind;
  const { state, made } = makeState([
    [SEND, 3],
    [READ, 4],
    [SEND, 2],
    [SEND, 1],
  ]);
  const [first, read, last, unbegun] = made;
  const named: [SendRecord, number][] = [];
  const note = (record: SendRecord, sent: number) => named.push([record, sent]);
  first.packetsSent = 1;
  state.rewind(0xffffff, note);
  t.same(named.splice(0), [
    [read, 4],
    [last, 2],
  ]);
  state.rewind(0xfffffe, note);
  t.same(named.splice(0), [[first, 1]], 'the others wait to be sent already');
  first.packetsSent = 3;
  read.packetsSent = 1;
  state.rewind(0, note);
  t.same(named, [
    [first, 3],
    [read, 1],
  ]);
  t.equal(unbegun.packetsSent, 0);
});

t.test('what was sent stays outstanding when earlier packets are sent again', async (t) => {
  const { state, steps } = makeState([]);
  for (const psn of [0xfffffe, 0xffffff, 0, 1]) state.noteSent(psn, psn);
  t.same(steps, []);
  for (const psn of [0xffffff, 1]) state.noteSent(psn, psn);
  t.same(steps, [Step.RESEND, 0xffffff, Step.RESEND, 1]);
  t.ok(state.isUnacked(1));
  t.notOk(state.isUnacked(2));
  t.notOk(state.isUnacked(0xfffffd));
  state.noteSent(2, 9);
  t.ok(state.isUnacked(9), 'all PSNs of the responses to a READ');
});

t.test('a retry begins with the packet that is missing and sends everything behind it', async (t) => {
  const { SEND, READ } = RequestKind;
  const { state, made } = makeState([
    [SEND, 3],
    [READ, 4],
    [SEND, 2],
    [SEND, 3],
    [SEND, 1],
  ]);
  const [first, read, done, behind, unbegun] = made;
  done.done = true;
  state.rewind(3);
  t.equal(state.cursor, read);
  t.same(
    made.map(({ packetsSent }) => packetsSent),
    [3, 0, 2, 0, 0],
    'the first one is acknowledged, the third one done',
  );
  state.rewind(0);
  t.equal(state.cursor, first);
  t.same([first.packetsSent, read.packetsSent, behind.packetsSent], [2, 0, 0]);
  state.cursor = unbegun;
  state.rewind(10);
  t.equal(state.cursor, unbegun, 'nothing before it is outstanding');
});

t.test('an ACK moves the cursor over packets that were to be sent again', async (t) => {
  const { SEND, READ } = RequestKind;
  const { state, made } = makeState([
    [SEND, 3],
    [READ, 4],
    [SEND, 2],
    [SEND, 1],
  ]);
  const [first, read, last] = made;
  state.readsOutstanding = 1;
  state.noteSent(0xfffffe, 6);
  t.same([state.cursorPsn, state.findError()], [7, undefined], 'all of it is sent');
  state.rewind(0xfffffe);
  t.same([state.cursorPsn, state.findError()], [0xfffffe, undefined]);
  first.packetsSent = 1;
  first.skipTo(0);
  state.acknowledge(0);
  t.same([state.cursorPsn, state.findError()], [0, undefined], 'PSN 0xffffff is not sent again');
  first.packetsSent = 3;
  first.skipTo(0);
  t.equal(first.packetsSent, 3, 'an earlier ACK has no packet sent again');
  first.done = true;
  state.acknowledge(1);
  t.same([state.cursorPsn, state.findError()], [1, undefined], 'the request of the READ is next');
  read.responsesReceived = 3;
  state.acknowledge(4);
  t.same([state.cursorPsn, state.findError()], [4, undefined], 'it is asked for its rest');
  read.done = true;
  state.readsOutstanding = 0;
  last.skipTo(6);
  state.acknowledge(6);
  t.same([state.cursorPsn, state.findError()], [6, undefined]);
});

t.test('each rule of a requester that does not hold is described', async (t) => {
  const { SEND, READ } = RequestKind;
  type Made = ReturnType<typeof makeState>;
  const rewindAnd = <T extends object>(state: RequesterState, psn: number, target: T, change: Partial<T>): void => {
    state.rewind(psn);
    Object.assign(target, change);
  };
  const breaks: readonly [RegExp, (made: Made) => void][] = [
    [/16777215 are before the cursor/, ({ state }) => rewindAnd(state, 0xfffffe, state, { unackedPsn: 0xffffff })],
    [/3 sent and 9 numbered/, ({ state }) => Object.assign(state, { sentPsn: 1 })],
    [/10 sent and 9 numbered/, ({ state }) => Object.assign(state, { sentPsn: 8 })],
    [/8388609 numbered/, ({ state }) => Object.assign(state, { nextPsn: 0x7fffff, sentPsn: 0x7fffff })],
    [/begins with PSN 2 in place of 1/, ({ made }) => Object.assign(made[1], { firstPsn: 2 })],
    [/record 0, PSNs 16777214 to 0, is not done/, ({ state }) => Object.assign(state, { unackedPsn: 1 })],
    [/record 0, PSNs 16777214 to 0, is done/, ({ made }) => Object.assign(made[0], { done: true })],
    [/1 packets of record 2 are before the cursor/, ({ made }) => Object.assign(made[2], { packetsSent: 1 })],
    [/2 packets of record 2 are sent, behind/, ({ state, made }) => rewindAnd(state, 1, made[2], { packetsSent: 2 })],
    [/end before PSN 5, not 7/, ({ made }) => Object.assign(made[2], { lastPsn: 4, packetsSent: 0 })],
    [/4 records in place of 3/, ({ state }) => Object.assign(state, { recordCount: 3 })],
    [/1 READs in place of 2/, ({ state }) => Object.assign(state, { readsOutstanding: 2 })],
  ];
  for (const [error, breakIt] of breaks) {
    const made = makeState([
      [SEND, 3],
      [READ, 4],
      [SEND, 2],
      [SEND, 1],
    ]);
    for (const [sequence, record] of made.made.entries()) record.sequence = sequence;
    made.state.noteSent(0xfffffe, 6);
    made.state.readsOutstanding = 1;
    t.equal(made.state.findError(), undefined);
    breakIt(made);
    t.match(made.state.findError(), error);
  }
});

t.test('marks of a PSN are gone before it comes again', async (t) => {
  const { state } = makeState([]);
  state.nextPsn = 4;
  state.noteSent(0xfffffe, 2);
  Object.assign(state, { retriedPsn: 1, refusedPsn: 3 });
  state.acknowledge(3);
  t.match(state, { retriedPsn: -1, refusedPsn: 3 }, 'the packet that was refused is to be sent yet');
  state.noteSent(3, 3);
  state.acknowledge(4);
  t.match(state, { retriedPsn: -1, refusedPsn: -1 });
});

t.test('a connection starts without retries used, credits or outstanding PSNs', async (t) => {
  const { state } = makeState([]);
  Object.assign(state, { retriedPsn: 5, readsOutstanding: 2, wait: RequesterWait.RNR, creditsUnlimited: false });
  Object.assign(state, { retriesLeft: 0, rnrRetriesLeft: 0, sendSequence: 9, limitSequence: 7 });
  Object.assign(state, { refusedPsn: 77 });
  state.start(77);
  t.match(state, { retriedPsn: -1, refusedPsn: -1 }, 'no PSN of the last connection');
  t.match(state, { nextPsn: 77, unackedPsn: 77, sentPsn: 77, readsOutstanding: 0, wait: RequesterWait.NONE });
  t.match(state, { retriesLeft: 3, rnrRetriesLeft: 4, sendSequence: 1, limitSequence: 0, creditsUnlimited: true });
  t.notOk(state.outstanding || state.isUnacked(77));
});

t.test('unreliable connections have SEND and WRITE only (IBTA table 36)', async (t) => {
  const { SEND, WRITE, READ, ATOMIC, LOCAL, NONE } = RequestKind;
  for (const [opcode, reliable, unreliable] of [
    [SendOpcode.SEND, SEND, SEND],
    [SendOpcode.SEND_IMMEDIATE, SEND, SEND],
    [SendOpcode.SEND_INVALIDATE, SEND, NONE],
    [SendOpcode.RDMA_WRITE, WRITE, WRITE],
    [SendOpcode.RDMA_WRITE_IMMEDIATE, WRITE, WRITE],
    [SendOpcode.RDMA_READ, READ, NONE],
    [SendOpcode.COMPARE_SWAP, ATOMIC, NONE],
    [SendOpcode.FETCH_ADD, ATOMIC, NONE],
    [SendOpcode.LOCAL_INVALIDATE, LOCAL, LOCAL],
    [0xff, NONE, NONE],
  ]) {
    t.equal(requestKind(ServiceType.RC, opcode), reliable, `RC ${opcode}`);
    t.equal(requestKind(ServiceType.UC, opcode), unreliable, `UC ${opcode}`);
  }
});

t.test('messages that take a receive WQE need a credit (IBTA 9.7.7.2)', async (t) => {
  const { SEND, SEND_IMMEDIATE, SEND_INVALIDATE, RDMA_WRITE, RDMA_WRITE_IMMEDIATE, RDMA_READ, FETCH_ADD } = SendOpcode;
  for (const opcode of [SEND, SEND_IMMEDIATE, SEND_INVALIDATE, RDMA_WRITE_IMMEDIATE]) t.ok(needsCredit(opcode));
  for (const opcode of [RDMA_WRITE, RDMA_READ, FETCH_ADD, SendOpcode.NOP]) t.notOk(needsCredit(opcode));
});
