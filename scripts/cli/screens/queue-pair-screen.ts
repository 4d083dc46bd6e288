// SPDX-License-Identifier: Apache-2.0
/**
 * The screens of `vuhca status --qp`: a table of all queue pairs, and one queue pair in full, both
 * within 80 columns. Pure: reports in, text out.
 */
import type { QueuePairReport } from '../../../device/process/reports/queue-pair-report.ts';
import { table } from '../../console/table.ts';
import { line, seconds } from './screen-text.ts';

type Failure = NonNullable<QueuePairReport['failure']>;

const HEADER = ['QP', 'fn', 'type', 'state', 'peer', 'sends', 'busy', 'receives', 'failure'];
/** Columns with words. */
const LEFT = [0, 2, 3, 4, 8];
const LEGEND = [
  'peer: QP@LID; sends, receives: number of the next WQE; busy: commands in flight',
  '`vuhca status --qp N` shows one in full',
];

/** All queue pairs, a line for each. */
export function renderQueuePairs(queuePairs: readonly QueuePairReport[]): string {
  if (queuePairs.length === 0) return 'no QPs\n';
  return `${table([HEADER, ...queuePairs.map(describeRow)], LEFT)}${LEGEND.join('\n')}\n`;
}

function describeRow(qp: QueuePairReport): (string | number)[] {
  const { peer, send, receive, failure } = qp;
  return [
    qp.number,
    qp.function,
    qp.service,
    qp.state,
    peer === undefined ? '' : `${peer.qpn}@${peer.lid}`,
    send.nextWqe,
    send.inFlight,
    receive.nextWqe,
    failure === undefined ? '' : nameFailure(failure),
  ];
}

/** One queue pair in full. */
export function renderQueuePair(qp: QueuePairReport): string {
  const { send, receive, peer, failure } = qp;
  const objects = [`PD ${qp.pd}`, `send CQ ${qp.sendCq}`, `receive CQ ${qp.receiveCq}`];
  const lines = [
    line(`QP ${qp.number}`, [
      qp.service,
      qp.state,
      `function ${qp.function}`,
      ...(qp.process === undefined ? [] : [`process ${qp.process}`]),
      `QoS level ${qp.qosLevel}`,
    ]),
    line('objects', [...objects, ...(qp.srq === undefined ? [] : [`SRQ ${qp.srq}`]), ...(qp.traced ? ['traced'] : [])]),
    line('failure', failure === undefined ? ['none'] : describeFailure(failure)),
    line('peer', [peer === undefined ? 'none' : `QP ${peer.qpn} at LID ${peer.lid}`, describePort(qp.port)]),
    line('send', [
      `next WQE ${send.nextWqe}`,
      `${send.inFlight} in flight`,
      `${send.inKickLists} of them in kick lists`,
      ...(send.doorbellWaiting ? ['a doorbell waits'] : []),
      ...(send.stopped ? ['stopped by software'] : []),
      `next PSN ${send.nextPsn}`,
      ...(qp.state === 'RTS' || qp.state === 'SQD' ? describeRequester(send) : []),
    ]),
    line('receive', [
      `next WQE ${receive.nextWqe}`,
      `${receive.postedWqes} known to be posted`,
      ...(receive.expectedPsn === undefined ? [] : [`expected PSN ${receive.expectedPsn}`, `MSN ${receive.msn}`]),
      ...(receive.requestEndedAt === undefined ? [] : [`last request ended at ${receive.requestEndedAt}`]),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** The requester of a connection. A failed QP has none of this: its queue is flushed. */
function describeRequester(send: QueuePairReport['send']): string[] {
  const { unackedPsn, turnEndedAt, waitsFor, retriesLeft, rnrRetriesLeft } = send;
  return [
    ...(unackedPsn === undefined ? [] : [`acknowledged before PSN ${unackedPsn}`]),
    ...(turnEndedAt === undefined ? [] : [`last turn ended at ${turnEndedAt}`]),
    ...(waitsFor === undefined ? [] : [`waits: ${waitsFor}`]),
    ...(retriesLeft === undefined ? [] : [`${retriesLeft} retries left, RNR: ${rnrRetriesLeft}`]),
  ];
}

function describePort(port: number): string {
  return port === 0 ? 'no port yet' : `port ${port}`;
}

/** The shortest name of a failure: the status of its CQE, or its fault. */
function nameFailure({ cause, status, fault }: Failure): string {
  if (cause === 'software') return 'by software';
  return status === 'SUCCESS' ? fault : status;
}

/** The failure, its time, and its evidence. */
function describeFailure(failure: Failure): string[] {
  const { cause, state, status, fault, wqe, psn, syndrome, timeNs } = failure;
  const when = `in ${state} at ${seconds(timeNs)} s`;
  if (cause === 'software') return [`software moved it to ERR ${when}`];
  const words = { send: 'a send failed', receive: 'a request of the peer failed', adapter: 'the adapter stopped it' };
  return [
    `${words[cause as keyof typeof words]} ${when}`,
    ...(wqe === undefined ? [] : [`${cause} WQE ${wqe}`]),
    ...(status === 'SUCCESS' ? [] : [`status ${status}`]),
    ...(fault === 'NONE' ? [] : [`fault ${fault}`]),
    ...(psn === undefined ? [] : [`PSN ${psn}`]),
    ...(syndrome === undefined ? [] : [`${cause === 'send' ? 'received' : 'sent'} ${syndrome}`]),
  ];
}
