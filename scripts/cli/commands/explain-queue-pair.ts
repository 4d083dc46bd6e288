// SPDX-License-Identifier: Apache-2.0
/**
 * The words of `vuhca explain` for a failed queue pair: its request, the packet that reported the
 * failure, the fault at its peer, its present state, and the command for the whole story. Pure.
 * Called by explain-action.ts.
 */

import { ruleServiceOf } from '../../../device/hca/trace/rule-services.ts';
import type { FailedQueuePair } from '../../../device/process/reports/failed-queue-pairs.ts';
import type { QueuePairReport } from '../../../device/process/reports/queue-pair-report.ts';
import { faultKind } from '../../../protocol/layout/values.ts';
import { explainFault, explainStatus, joined } from '../screens/explain-text.ts';
import { duration, paragraph, seconds } from '../screens/screen-text.ts';

const NS_PER_MS = 1e6;

type Failure = FailedQueuePair['failure'];

/** A queue pair as it is, or as it was when it failed, with the name of its adapter. */
export interface NamedQueuePair<Report extends QueuePairReport = QueuePairReport | FailedQueuePair> {
  readonly adapter: string;
  readonly qp: Report;
}

/** The story of a failed queue pair; `all` has those in which its peer may be. */
export function explainQueuePair({ adapter, qp }: NamedQueuePair, all: readonly NamedQueuePair[]): string {
  const { number, service, failure } = qp;
  if (failure === undefined) return joined([`QP ${number} of ${adapter} has not failed since it went to INIT`]);
  const where = [`function ${qp.function}`, ...(qp.process === undefined ? [] : [`process ${qp.process}`])];
  const head = `QP ${number} of ${adapter} (${[service, ...where].join(', ')}): ${describeEnd(failure)}`;
  return joined([
    head,
    ...(isKept(qp) ? [paragraph('since then', describeToday(qp))] : []),
    ...explainStatus(failure.status === 'SUCCESS' ? '' : failure.status),
    ...describeFault('fault', failure),
    ...describePacket(failure),
    ...(isKept(qp) ? describeProgress(qp) : []),
    ...describePeer(qp, all),
    paragraph('story', describeTrace(qp)),
  ]);
}

/** True for a report of the moment of the failure. */
export function isKept(qp: QueuePairReport): qp is FailedQueuePair {
  return 'agoNs' in qp;
}

/** True when a kept report is of the failure that this queue pair shows. */
export function isSameFailure({ adapter, qp }: NamedQueuePair, other: NamedQueuePair): boolean {
  return (
    adapter === other.adapter &&
    qp.number === other.qp.number &&
    qp.function === other.qp.function &&
    qp.failure?.timeNs === other.qp.failure?.timeNs
  );
}

function describeEnd({ cause, state, status, wqe, timeNs }: Failure): string {
  const when = `in ${state} at ${seconds(timeNs)} s`;
  if (cause === 'software') return `software moved it to ERR ${when}`;
  if (cause === 'adapter') return `the adapter stopped it ${when}`;
  if (cause === 'receive') return `it refused a request of its peer ${when}`;
  return `send WQE ${wqe} ended with ${status} ${when}`;
}

function describeToday({ agoNs, stateToday }: FailedQueuePair): string {
  return `${duration(agoNs)}; ${stateToday === undefined ? 'it is destroyed' : `it is in ${stateToday}`}`;
}

/** Meaning of a fault and checks, below a line that reports it. */
export function explainFaultName(name: string): string {
  return joined(describeFault('fault', { fault: name }));
}

function describeFault(title: string, { fault }: Pick<Failure, 'fault'>): string[] {
  const value = faultKind.values.find(({ name }) => name === fault);
  if (value === undefined || value.value === 0) return [];
  return [paragraph(title, `${fault} (${value.value}): ${value.doc}`), ...explainFault(value)];
}

function describePacket({ cause, psn, syndrome }: Failure): string[] {
  if (psn === undefined) return [];
  const what = syndrome === undefined ? '' : `${cause === 'send' ? 'received' : 'sent'} ${syndrome} for `;
  return [paragraph('packet', `${what}PSN ${psn}; in Wireshark: infiniband.bth.psn == ${psn}`)];
}

/**
 * Requests outstanding when a send failed, and the time for which the requester would wait for its
 * peer.
 */
function describeProgress({ failure, peer, send, patience }: FailedQueuePair): string[] {
  if (failure.cause !== 'send' || patience === undefined) return [];
  const { ackTimeoutNs, retryCount, rnrRetry } = patience;
  const waits = ackTimeoutNs === undefined ? 'no ACK timeout' : `ACK timeout ${ackTimeoutNs / NS_PER_MS} ms`;
  const to = peer === undefined ? [] : [`to QP ${peer.qpn} at LID ${peer.lid}`];
  const words = [
    ...to,
    `${send.inFlight} in flight`,
    `acknowledged before PSN ${send.unackedPsn}`,
    `next PSN ${send.nextPsn}`,
    `${waits}, retry_cnt ${retryCount}, rnr_retry ${rnrRetry}`,
  ];
  return [paragraph('sends', words.join(', '))];
}

/**
 * The other end, if it is in this process: the numbers of both fit, and so does the PSN of its
 * failure. If there are several, the one that failed at about the same time.
 */
function describePeer(qp: NamedQueuePair['qp'], all: readonly NamedQueuePair[]): string[] {
  const ends = all.filter(({ qp: other }) => other.number === qp.peer?.qpn && other.peer?.qpn === qp.number);
  const distance = ({ qp: other }: NamedQueuePair): number =>
    isKept(qp) && isKept(other) ? Math.abs(qp.agoNs - other.agoNs) : Number.POSITIVE_INFINITY;
  const [failed] = ends
    .filter(({ qp: other }) => other.failure !== undefined && other.failure.psn === qp.failure?.psn)
    .sort((one, other) => compare(distance(one), distance(other)));
  if (failed?.qp.failure !== undefined) {
    const { adapter, qp: other } = failed;
    return [
      paragraph('peer', `QP ${other.number} of ${adapter}: ${describeEnd(failed.qp.failure)}`),
      ...describeFault('its fault', failed.qp.failure),
    ];
  }
  const alive = ends.find(({ qp: other }) => other.failure === undefined);
  if (alive === undefined) return [];
  const { adapter, qp: other } = alive;
  const { expectedPsn } = other.receive;
  const expects = expectedPsn === undefined ? '' : `, expects PSN ${expectedPsn}`;
  return [paragraph('peer', `QP ${other.number} of ${adapter}: in ${other.state}, has not failed${expects}`)];
}

/** Infinite values compare equal. */
function compare(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function describeTrace(qp: NamedQueuePair['qp']): string {
  const { number, traced, process, service } = qp;
  if (traced) return `vuhca trace show --qp ${number} --failed`;
  if (isKept(qp) && qp.stateToday === undefined)
    return `not traced; vuhca trace on --new --service ${ruleServiceOf(service)} --timeline keeps those to come`;
  const again = process === undefined ? `--qp ${number}` : `--qp ${number}, or --new --process PID,`;
  return `not traced; vuhca trace on ${again} keeps the next one`;
}
