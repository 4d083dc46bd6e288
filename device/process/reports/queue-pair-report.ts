// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pairs of a live adapter as plain data, for `vuhca status --qp` and readers of its JSON:
 * state, peer, progress of both queues, and why a QP failed (IBTA 10.3.1). It reads what the units
 * keep anyway; nothing here runs without a request.
 */
import { AethKind, aethKindName, nakCodeName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { ackTimeoutNs, rnrTimerNs, splitSyndrome } from '../../../protocol/infiniband/syndrome.ts';
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import {
  completionStatusName,
  faultKindName,
  qpStateName,
  serviceTypeName,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import { FailureCause, type QueuePairFailure, UNKNOWN } from '../../hca/queues/queue-pair-failure.ts';
import { requesterOf, responderOf } from '../../hca/transport/state/connected-states.ts';
import { RequesterStep, requesterStepNames, requesterWaitNames } from '../../hca/transport/state/requester-state.ts';
import { ResponderStep, responderStepNames } from '../../hca/transport/state/responder-state.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';

export type QueuePairReport = ReturnType<typeof reportQueuePair>;

/** QPs in the order of their numbers. */
export interface QueuePairList {
  readonly queuePairs: readonly QueuePairReport[];
  /** First number of the next list; absent in the last one. */
  readonly next?: number;
}

/** QPs in one list: some hundred KiB of JSON, less than the control socket keeps for a client. */
export const LIST_MAX = 500;

const causes: Readonly<Record<FailureCause, string>> = {
  [FailureCause.NONE]: 'none',
  [FailureCause.SOFTWARE]: 'software',
  [FailureCause.SEND]: 'send',
  [FailureCause.RECEIVE]: 'receive',
  [FailureCause.ADAPTER]: 'adapter',
};

/** The QPs with numbers from `first` on, at most LIST_MAX. */
export function listQueuePairs({ tables }: Pick<AnyAdapter, 'tables'>, first: number): QueuePairList {
  const found: QueuePair[] = [];
  tables.queuePairs.forEach((qp: QueuePair) => {
    if (qp.number >= first) found.push(qp);
  });
  found.sort((a, b) => a.number - b.number);
  const queuePairs = found.slice(0, LIST_MAX).map(reportQueuePair);
  return found.length > LIST_MAX ? { queuePairs, next: found[LIST_MAX].number } : { queuePairs };
}

export function reportQueuePair(qp: QueuePair) {
  const { number, owner, attributes } = qp;
  return {
    number,
    function: owner.number,
    /** Process of the guest, if its driver names one. */
    process: qp.creation.process === 0 ? undefined : qp.creation.process,
    service: serviceTypeName(qp.serviceType),
    state: qpStateName(qp.state),
    port: attributes.port,
    qosLevel: qp.qosLevel,
    pd: qp.pd.number,
    sendCq: qp.sendCq.number,
    receiveCq: qp.receiveCq.number,
    srq: qp.srq?.number,
    traced: qp.trace !== undefined,
    peer: reportPeer(qp),
    patience: reportPatience(qp),
    send: reportSends(qp),
    receive: reportReceives(qp),
    failure: reportFailure(qp.failure),
  };
}

/** The other end of a connection, once software has named it. */
export function reportPeer(qp: QueuePair) {
  const path = requesterOf(qp)?.path;
  return path === undefined || qp.attributes.remoteQpn === 0
    ? undefined
    : { qpn: qp.attributes.remoteQpn, lid: path.dlid };
}

/** Time-outs of a requester, and its retries (IBTA 9.7.6.1.3). */
function reportPatience(qp: QueuePair) {
  if (requesterOf(qp) === undefined) return undefined;
  const { timeout, retryCount, rnrRetry } = qp.attributes;
  return { ackTimeoutNs: timeout === 0 ? undefined : ackTimeoutNs(timeout), retryCount, rnrRetry };
}

/**
 * Progress of the send queue. `nextWqe`: number of the next command to be admitted. `turnEndedAt`:
 * the state in which the requester ended its last turn.
 */
function reportSends(qp: QueuePair) {
  const state = requesterOf(qp);
  return {
    nextWqe: qp.nextSequence,
    inFlight: qp.inFlight,
    inKickLists: qp.kicked,
    doorbellWaiting: qp.doorbellWaiting,
    stopped: qp.stopped,
    nextPsn: state === undefined ? qp.sendPsn : state.nextPsn,
    unackedPsn: state?.unackedPsn,
    turnEndedAt: state === undefined || state.step === RequesterStep.EXIT ? undefined : requesterStepNames[state.step],
    waitsFor: state === undefined ? undefined : requesterWaitNames[state.wait],
    retriesLeft: state?.retriesLeft,
    rnrRetriesLeft: state?.rnrRetriesLeft,
  };
}

/**
 * Progress of the receive queue. `postedWqes`: as far as the adapter has read software's tail.
 * `requestEndedAt`: the state in which the responder ended its last request.
 */
function reportReceives(qp: QueuePair) {
  const state = responderOf(qp);
  return {
    nextWqe: qp.receiveSource.head,
    postedWqes: qp.receiveSource.known,
    expectedPsn: state?.expectedPsn,
    msn: state?.msn,
    requestEndedAt:
      state === undefined || state.step === ResponderStep.EXIT ? undefined : responderStepNames[state.step],
  };
}

function reportFailure(failure: QueuePairFailure) {
  const { cause, state, status, fault, sequence, psn, syndrome, timeLow, timeHigh } = failure;
  if (cause === FailureCause.NONE) return undefined;
  return {
    cause: causes[cause],
    state: qpStateName(state),
    status: completionStatusName(status),
    fault: faultKindName(fault),
    wqe: sequence === UNKNOWN ? undefined : sequence,
    psn: psn === UNKNOWN ? undefined : psn,
    syndrome: syndrome === UNKNOWN ? undefined : describeSyndrome(syndrome),
    timeNs: joinDwords(timeLow, timeHigh),
  };
}

/** `NAK REMOTE_ACCESS_ERROR`, `RNR_NAK 0.64 ms`. */
function describeSyndrome(syndrome: number): string {
  const { kind, value } = splitSyndrome(syndrome);
  const detail = kind === AethKind.NAK ? nakCodeName(value) : `${rnrTimerNs(value) / 1e6} ms`;
  return `${aethKindName(kind)} ${detail}`;
}
