// SPDX-License-Identifier: Apache-2.0
/**
 * Refuses requests (IBTA 9.9.3): reliable QPs send a NAK and enter the error state, unreliable ones
 * drop silently; a receive WQE that the message took completes in error. Called by the checks of
 * the responder and by the execution of requests.
 */
import { AethKind, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { syndromeOf } from '../../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, EventType, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { noteStep, Step } from '../../function/timeline.ts';
import { PacketDrop } from '../../function/timeline-values.ts';
import { FailureCause, UNKNOWN } from '../../queues/queue-pair-failure.ts';
import { postReceiveCompletion } from '../completions.ts';
import { receiveStatus, refusalStatus } from '../fault-status.ts';
import { noteDrop } from '../packet-drops.ts';
import { MessageKind, type ResponderState, ResponderStep } from '../state/responder-state.ts';
import type { ResponderAnswers } from './responder-answers.ts';
import type { FailResponder, ResponderRequest } from './responder-request.ts';

export class ResponderRefusals {
  readonly #request: ResponderRequest;
  readonly #answers: ResponderAnswers;
  readonly #fail: FailResponder;

  constructor(request: ResponderRequest, answers: ResponderAnswers, fail: FailResponder) {
    this.#request = request;
    this.#answers = answers;
    this.#fail = fail;
  }

  /** Unreliable QPs: drops the packet and the rest of its message. */
  skip(cause: PacketDrop): ResponderStep {
    const { state, packet } = this.#request;
    state.expect(addPsn(packet.psn, 1));
    state.message = MessageKind.NONE;
    return this.drop(cause);
  }

  /** Drops the packet and nothing else. */
  drop(cause: PacketDrop): ResponderStep {
    const { qp, packet } = this.#request;
    noteDrop(qp, packet, cause);
    return ResponderStep.DROP;
  }

  /** The request is invalid, or the QP does not serve it. */
  refuseRequest(fault: FaultKind): ResponderStep {
    return this.#refuse(NakCode.INVALID_REQUEST, EventType.QP_REQUEST_ERROR, fault, this.#request.packet.psn);
  }

  /** The key does not allow the access. */
  refuseAccess(fault: FaultKind, address: number): ResponderStep {
    return this.#refuse(NakCode.REMOTE_ACCESS_ERROR, EventType.QP_ACCESS_ERROR, fault, address);
  }

  /** The request names an SRQ that it may not use (IBTA annex A14). */
  refuseQueue(fault: FaultKind, srqn: number): ResponderStep {
    const event = fault === FaultKind.XRC_DOMAIN ? EventType.XRC_DOMAIN_VIOLATION : EventType.XRC_INVALID_HEADER;
    return this.#refuse(NakCode.REMOTE_OPERATIONAL_ERROR, event, fault, srqn);
  }

  /** Local memory cannot be accessed. */
  refuseOperation(fault: FaultKind): ResponderStep {
    return this.#refuse(NakCode.REMOTE_OPERATIONAL_ERROR, EventType.QP_FATAL, fault, this.#request.packet.psn);
  }

  /**
   * The receive WQE cannot take the message: it completes in error, and the sender gets a NAK (IBTA
   * 9.9.3, classes A and B).
   */
  failReceiveWqe(fault: FaultKind): ResponderStep {
    const { reliable, qp, state } = this.#request;
    const tooShort = fault === FaultKind.RECEIVE_TOO_SHORT;
    const code = tooShort ? NakCode.INVALID_REQUEST : NakCode.REMOTE_OPERATIONAL_ERROR;
    if (reliable) this.#nak(code);
    const status = receiveStatus(fault);
    this.#note(status, fault, code);
    this.#trace(status, fault);
    completeReceiveWqe(state, status, fault);
    this.#fail(qp, undefined, fault, state.wqeNumber);
    return ResponderStep.EXIT;
  }

  /**
   * The message was placed, but its CQE could not be posted, which has failed the QP. The NAK keeps
   * the sender from counting the message as delivered.
   */
  failCompletion(): ResponderStep {
    if (this.#request.reliable) this.#nak(NakCode.REMOTE_OPERATIONAL_ERROR);
    return ResponderStep.EXIT;
  }

  /** NAK and error state (class C); unreliable QPs drop the message silently (class D). */
  #refuse(code: number, event: EventType, fault: FaultKind, detail: number): ResponderStep {
    const { reliable, qp, state } = this.#request;
    this.#trace(refusalStatus(code), fault);
    if (!reliable) return this.skip(PacketDrop.REFUSED);
    this.#nak(code);
    const status = CompletionStatus.REMOTE_INVALID_REQUEST_ERROR;
    this.#note(state.wqeTaken ? status : CompletionStatus.SUCCESS, fault, code);
    completeReceiveWqe(state, status, fault);
    this.#fail(qp, event, fault, detail);
    return ResponderStep.EXIT;
  }

  #trace(status: CompletionStatus, fault: FaultKind): void {
    const { qp, state, packet } = this.#request;
    noteStep(qp, Step.PACKET_REFUSED, packet.psn, fault, packet.opcode, state.step);
    qp.trace?.refuse(this.#request, status, fault);
  }

  /** Notes why the QP fails. The status is that of the receive WQE, if the message took one. */
  #note(status: CompletionStatus, fault: FaultKind, code: number): void {
    const { reliable, qp, state, packet } = this.#request;
    const sequence = state.wqeTaken ? state.wqeNumber : UNKNOWN;
    const syndrome = reliable ? syndromeOf(AethKind.NAK, code) : UNKNOWN;
    qp.failure.note(qp, FailureCause.RECEIVE, status, fault, sequence, packet.psn, syndrome);
  }

  #nak(code: number): void {
    const { state, packet } = this.#request;
    state.refused = true;
    this.#answers.queueSyndrome(state, AethKind.NAK, code, packet.psn);
  }
}

/** Completes the receive WQE of the message in progress, if it took one, with an error. */
export function completeReceiveWqe(state: ResponderState, status: CompletionStatus, fault: FaultKind): void {
  if (!state.wqeTaken) return;
  state.wqeTaken = false;
  state.report.status = status;
  state.report.fault = fault;
  state.report.solicited = 0;
  postReceiveCompletion(state.qp, state.wqeNumber, state.report);
}
