// SPDX-License-Identifier: Apache-2.0
/**
 * Payload of READ responses (IBTA 9.7.5.1.9): read from guest memory when its packet is sent. The
 * key is checked again for each packet, because it may be invalid by then (IBTA 9.7.5.2.4). Data
 * whose page is not present waits in its answer; other failures end the connection.
 * `ResponderAnswers` calls it.
 */
import { AethKind, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { syndromeOf } from '../../../../protocol/infiniband/syndrome.ts';
import { AccessFlag, CompletionStatus, EventType, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import { PagePart } from '../../function/timeline-values.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { PageWaiter } from '../../protection/page-faults.ts';
import { FailureCause, UNKNOWN } from '../../queues/queue-pair-failure.ts';
import { refusalStatus } from '../fault-status.ts';
import type { ResponderResource, ResponderState, RespondingQueuePair } from '../state/responder-state.ts';
import type { FailResponder } from './responder-request.ts';

type Wake = (state: ResponderState) => void;

export class AnswerPayloads {
  readonly #keys: KeyLookup;
  readonly #fail: FailResponder;
  readonly #wake: Wake;

  constructor(keys: KeyLookup, fail: FailResponder, wake: Wake) {
    this.#keys = keys;
    this.#fail = fail;
    this.#wake = wake;
  }

  /** Returns false when the packet is not to be sent: the answer waits, or has ended. */
  read(
    state: ResponderState,
    resource: ResponderResource,
    done: number,
    length: number,
    target: PacketRing,
    at: number,
  ): boolean {
    const keys = this.#keys;
    const { qp } = state;
    const address = resource.address + done;
    const region = keys.at(address).checkRemote(qp, resource.rkey, length, AccessFlag.REMOTE_READ, resource.pd);
    if (region?.read(region.owner.dma.at(address), qp, length, target, at)) return true;
    const psn = addPsn(resource.firstPsn, resource.packetsSent);
    if (this.#waits(state, resource, psn)) return false;
    if (resource.repeated) {
      // A late duplicate of a request answered long ago must not fail the connection: software may
      // have reclaimed the memory since.
      state.withdraw(resource);
      return false;
    }
    // A NAK replaces the rest of the answer (IBTA 9.7.5.2.4).
    const code = region === undefined ? NakCode.REMOTE_ACCESS_ERROR : NakCode.REMOTE_OPERATIONAL_ERROR;
    const fault = region === undefined ? keys.fault : FaultKind.DMA_READ;
    resource.trace?.endAnswer(resource, refusalStatus(code), fault);
    state.clearAnswers();
    state.refused = true;
    state.acknowledge.set(AethKind.NAK, code, psn, resource.msn);
    this.#wake(state);
    const { SUCCESS } = CompletionStatus;
    qp.failure.note(qp, FailureCause.RECEIVE, SUCCESS, fault, UNKNOWN, psn, syndromeOf(AethKind.NAK, code));
    this.#fail(qp, region === undefined ? EventType.QP_ACCESS_ERROR : EventType.QP_FATAL, fault, address);
    return false;
  }

  /** Returns true when the data waits for a page: the QP sends no READ data meanwhile. */
  #waits(state: ResponderState, resource: ResponderResource, psn: number): boolean {
    const { pageFaults } = this.#keys;
    pageFaults.widen(resource.address, resource.lengthBytes);
    const { answerPages } = state;
    if (!pageFaults.take() || answerPages.refused === state.countOf(psn)) return false;
    answerPages.missed = state.countOf(psn);
    state.paused = true;
    pageFaults.wait(state.qp, this.#waiter, psn);
    return true;
  }

  readonly #waiter: PageWaiter<RespondingQueuePair> = {
    part: PagePart.ANSWER,
    resume: ({ responder }) => this.#resume(responder),
    refuse: ({ responder }) => {
      const { answerPages } = responder;
      answerPages.refused = answerPages.missed;
      this.#resume(responder);
    },
  };

  #resume(state: ResponderState): void {
    state.paused = false;
    this.#wake(state);
  }
}
