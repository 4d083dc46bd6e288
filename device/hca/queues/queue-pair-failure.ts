// SPDX-License-Identifier: Apache-2.0
/**
 * The failure that made a QP leave its working states (IBTA 10.3.1, 10.10.2.3): the first one since
 * the QP was last brought to INIT, or back from SQE to RTS. Transport and queue-pair life note it
 * before they change the state; `vuhca status --qp` shows it. Later failures do not replace the
 * first one, because they usually follow from it. A record belongs to its QP, so noting allocates
 * nothing. The life cycle tells the host of each failure, and the host may keep a copy.
 */
import { CompletionStatus, FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';

/** The side on which a QP failed. */
export const FailureCause = {
  NONE: 0,
  /** Software modified the QP to ERR. */
  SOFTWARE: 1,
  /** A send WQE failed. */
  SEND: 2,
  /** A packet of the peer, or the receive WQE that it used. */
  RECEIVE: 3,
  /** The adapter could not serve the QP: its records or its CQ. */
  ADAPTER: 4,
} as const;
export type FailureCause = (typeof FailureCause)[keyof typeof FailureCause];

/** A QP as its failure needs it. */
interface FailingQueuePair {
  readonly state: QpState;
  readonly owner: UnderlyingFunction;
  readonly life: { noteFailure(qp: FailingQueuePair): void };
}

/** Failed queue pairs that the host keeps of an adapter. */
export const FAILURES_KEPT = 64;

/** Value of a number that a failure does not have. */
export const UNKNOWN = -1;

export class QueuePairFailure {
  cause: FailureCause = FailureCause.NONE;
  /** State that the QP left. */
  state: QpState = QpState.RESET;
  /** Status of the CQE, SUCCESS when no CQE reports the failure; and the detected fault. */
  status: CompletionStatus = CompletionStatus.SUCCESS;
  fault: FaultKind = FaultKind.NONE;
  /** Number of the WQE, PSN of the packet, and AETH syndrome (IBTA 9.7.5.2.1), or UNKNOWN. */
  sequence = UNKNOWN;
  psn = UNKNOWN;
  syndrome = UNKNOWN;
  /** Local time of the function. */
  timeLow = 0;
  timeHigh = 0;

  /** Notes a failure of `qp`, unless one is noted. Call it before the state changes. */
  note(
    qp: FailingQueuePair,
    cause: FailureCause,
    status: CompletionStatus,
    fault: FaultKind,
    sequence = UNKNOWN,
    psn = UNKNOWN,
    syndrome = UNKNOWN,
  ): void {
    if (this.cause !== FailureCause.NONE) return;
    const { localTime } = qp.owner;
    localTime.sample();
    this.cause = cause;
    this.state = qp.state;
    this.status = status;
    this.fault = fault;
    this.sequence = sequence;
    this.psn = psn;
    this.syndrome = syndrome;
    this.timeLow = localTime.low;
    this.timeHigh = localTime.high;
    qp.life.noteFailure(qp);
  }

  /** The QP works again. */
  clear(): void {
    this.cause = FailureCause.NONE;
    this.state = QpState.RESET;
    this.status = CompletionStatus.SUCCESS;
    this.fault = FaultKind.NONE;
    this.sequence = UNKNOWN;
    this.psn = UNKNOWN;
    this.syndrome = UNKNOWN;
    this.timeLow = 0;
    this.timeHigh = 0;
  }
}
