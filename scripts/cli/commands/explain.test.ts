// SPDX-License-Identifier: Apache-2.0
/** `vuhca explain`: from the error that a program sees to its cause, word for word. */
import t from 'tap';
import type { FailedQueuePair } from '../../../device/process/reports/failed-queue-pairs.ts';
import type { QueuePairReport } from '../../../device/process/reports/queue-pair-report.ts';
import { completionStatus, faultKind, managementStatus } from '../../../protocol/layout/values.ts';
import { explainCompletion, explainWords } from '../screens/explain-text.ts';
import { makeHistory } from '../testing/failed-queue-pairs.ts';
import { runWords } from '../testing/run-words.ts';
import { chooseFailures } from './explain-action.ts';
import { explainQueuePair, isKept, type NamedQueuePair } from './explain-queue-pair.ts';

const ACCESS_ERROR = `REMOTE_ACCESS_ERROR (10): Key, bounds or access rights of remote memory do not allow the access.
libibverbs   IBV_WC_REM_ACCESS_ERR
rule         IBTA 9.7.5.2, 9.9.3: the responder answered with a NAK for a remote
             access error
check        R_Key, address and length against the region of the peer; access
             flags of region and QP
`;

t.test('a status by its number, and by its names', async (t) => {
  for (const text of ['10', '0xa', 'REMOTE_ACCESS_ERROR', 'IBV_WC_REM_ACCESS_ERR', 'rem_access_err'])
    t.equal(explainCompletion(text), ACCESS_ERROR, text);
});

t.test('a vendor error beside the status', async (t) => {
  const words = `vendor_err   20, KEY_BOUNDS: Access outside the memory region.
check        address and length, against those of the region
`;
  for (const text of ['20', '0x14', 'KEY_BOUNDS']) t.equal(explainCompletion('10', text), ACCESS_ERROR + words, text);
});

t.test('every status that the adapter posts names its rule', async (t) => {
  const never = ['LOCAL_EEC_STATE_ERROR', 'ABORTED'];
  for (const { name } of completionStatus.values.filter((one) => !never.includes(one.name)))
    t.match(explainCompletion(name), /\nrule +IBTA \d/, name);
});

t.test('faults and management statuses, by name and number', async (t) => {
  for (const { name, value } of faultKind.values) {
    t.match(explainWords('fault', String(value)), `fault ${name} (${value}): `);
    if (name !== 'COMMAND_SEQUENCE') t.match(explainWords(name.toLowerCase()), `${name} (${value})`);
  }
  for (const { name, value } of managementStatus.values) {
    t.match(explainWords('management', String(value)), `management status ${name} (${value}): `);
    t.match(explainWords('management', name), `management status ${name} (${value}): `);
  }
  t.match(explainWords('BAD_FIELD'), /^management status BAD_FIELD \(5\): /);
  t.match(explainWords('REGISTER_READ_ONLY'), /^fault REGISTER_READ_ONLY \(2\): /);
});

t.test('a number alone is that of a completion, and names the others', async (t) => {
  t.equal(
    explainWords('10'),
    `${ACCESS_ERROR}or           fault COMMAND_QOS; status of a management command NOT_PERMITTED\n`,
  );
  t.match(explainWords('41'), /^or +fault LANE_TABLE_ENTRY\n$/, 'no status of a completion');
  t.match(explainWords('completion', '10'), ACCESS_ERROR);
  t.throws(() => explainWords('fault'), /fault needs a number or a name/);
  t.throws(() => explainWords('999'), /999 is not a status of a completion/);
  t.throws(() => explainWords('fault', 'x'), /x is not a fault/);
});

t.test('both ends of a failed connection', async (t) => {
  const all = makeHistory().map((qp) => ({ adapter: 'x', qp }));
  const [requester, responder, waiting, , datagram, moved] = all.map((one) => explainQueuePair(one, all));
  t.equal(
    requester,
    `QP 2 of x (RC, function 0): send WQE 1 ended with REMOTE_ACCESS_ERROR in RTS at 0.000000 s
libibverbs   IBV_WC_REM_ACCESS_ERR
rule         IBTA 9.7.5.2, 9.9.3: the responder answered with a NAK for a remote
             access error
check        R_Key, address and length against the region of the peer; access
             flags of region and QP
packet       received NAK REMOTE_ACCESS_ERROR for PSN 103; in Wireshark:
             infiniband.bth.psn == 103
peer         QP 3 of x: it refused a request of its peer in RTS at 0.000000 s
its fault    KEY_INVALID (18): No such key.
check        all 32 bits of the L_Key or R_Key; whether the region still exists
story        not traced; vuhca trace on --qp 2 keeps the next one
`,
  );
  t.match(responder, /^fault +KEY_INVALID/m);
  t.match(responder, /^peer +QP 2 of x: send WQE 1 ended with REMOTE_ACCESS_ERROR/m, 'the other way round');
  t.match(datagram, /^fault +KEY_INVALID/m);
  t.notMatch(datagram, /^peer/m);
  t.match(moved, /^QP 7 of x \(UD, function 0\): software moved it to ERR/);
  t.equal(waiting, 'QP 4 of x has not failed since it went to INIT\n');
});

t.test('a QP that is traced leads to its story, and a process to those to come', async (t) => {
  const [qp] = makeHistory();
  const story = (one: object): string => explainQueuePair({ adapter: 'x', qp: { ...qp, ...one } }, []);
  t.match(story({ traced: true }), 'vuhca trace show --qp 2 --failed');
  t.match(story({ process: 77 }), '(RC, function 0, process 77)');
  t.match(story({ process: 77 }), '--new --process PID');
});

/** The newest of the known history as it was kept when it failed. */
function keep(qp: QueuePairReport, agoNs: number, stateToday?: string): FailedQueuePair {
  const { failure } = qp;
  if (failure === undefined) throw new Error(`QP ${qp.number} has not failed`);
  return { ...qp, failure, state: failure.state, agoNs, ...(stateToday && { stateToday }) };
}

t.test('a QP that is gone, as it was when it failed', async (t) => {
  const [requester, responder] = makeHistory() as [QueuePairReport, QueuePairReport];
  const send = { ...requester.send, inFlight: 1, unackedPsn: 103, nextPsn: 106 };
  const patience = { ackTimeoutNs: 67_108_864, retryCount: 7, rnrRetry: 6 };
  const gone = { adapter: 'x', qp: keep({ ...requester, send, patience, process: 77 }, 12e9) };
  const peer = { adapter: 'x', qp: keep(responder, 12e9, 'RESET') };
  const later = { adapter: 'x', qp: keep({ ...responder, failure: { ...peer.qp.failure, timeNs: 5e9 } }, 3e9) };
  const text = explainQueuePair(gone, [gone, later, peer]);
  t.match(text, /^QP 2 of x \(RC, function 0, process 77\): send WQE 1 ended with REMOTE_ACCESS_ERROR in RTS at /);
  t.match(text, '\nsince then   12 s; it is destroyed\n');
  t.match(
    text,
    `sends        to QP 3 at LID 2, 1 in flight, acknowledged before PSN 103, next
             PSN 106, ACK timeout 67.108864 ms, retry_cnt 7, rnr_retry 6
peer         QP 3 of x: it refused a request of its peer in RTS at 0.000000 s
`,
    'the failure of the peer at the same time, not a later one',
  );
  t.match(text, /story +not traced; vuhca trace on --new --service RC --timeline keeps\s+those to come/);
  t.match(explainQueuePair(peer, []), '\nsince then   12 s; it is in RESET\n');
  t.match(explainQueuePair({ ...gone, qp: { ...gone.qp, traced: true } }, []), 'vuhca trace show --qp 2 --failed');
  const waits = { adapter: 'y', qp: { ...responder, failure: undefined, state: 'RTR' } };
  t.match(explainQueuePair(gone, [waits]), /peer +QP 3 of y: in RTR, has not failed, expects PSN 103/);
});

t.test('which failures are told: newest first, each once, of a number or a process', async (t) => {
  const [requester, responder, waiting] = makeHistory() as [QueuePairReport, QueuePairReport, QueuePairReport];
  const name = (qp: QueuePairReport): NamedQueuePair => ({ adapter: 'x', qp });
  const kept = [1, 2, 3].map((number) => name(keep({ ...requester, number, process: number }, number)));
  const again = responder.failure && { ...responder.failure, timeNs: 9 };
  const live = { ...responder, number: 3, process: 3, failure: again };
  const present = [name({ ...requester, number: 2 }), name(live), name(waiting), name({ ...responder, number: 9 })];
  const all = [...kept, ...present];
  const choose = (given: Parameters<typeof chooseFailures>[1]) =>
    chooseFailures(all, given).map(({ qp }) => (isKept(qp) ? `kept ${qp.number}` : `${qp.state} ${qp.number}`));
  t.same(choose({}), ['kept 1', 'kept 2', 'kept 3', 'ERR 3', 'ERR 9'], 'QP 3 has failed again, QP 9 long ago');
  t.same(choose({ last: 2 }), ['kept 1', 'kept 2']);
  t.same(choose({ qp: 2 }), ['kept 2'], 'it shows the same failure');
  t.same(choose({ process: 1 }), ['kept 1']);
  t.same(choose({ qp: waiting.number }), [`RTS ${waiting.number}`], 'a number of a QP that has not failed');
  t.throws(() => choose({ qp: 77 }), /there is no QP 77, and none of those that failed last had this number/);
});

t.test('what is not understood is refused', async (t) => {
  for (const [words, reason] of [
    [['77'], '77 is not a status'],
    [['10', 'KEY'], 'KEY is not a vendor error'],
    [['10', '--qp', '3'], 'not both'],
    [['--qp', '-1'], '--qp'],
  ] as const) {
    const { status, stderr } = await runWords(['explain', ...words]);
    t.equal(status, 2, words.join(' '));
    t.match(stderr, reason);
  }
});
