// SPDX-License-Identifier: Apache-2.0
/**
 * Requests that meet a page that is not present (docs/FEATURES.md, On-demand paging): a reliable
 * QP answers RNR NAK, and the requester repeats the packet after a time that grows with each
 * repetition (IBTA 9.7.5.2.8); an unreliable one drops the message. READ data that was promised
 * waits in its answer. Execution of requests and answers call it.
 */
import { AethKind } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import { PacketDrop, PagePart } from '../../function/timeline-values.ts';
import type { PageFaults, PageWaiter } from '../../protection/page-faults.ts';
import { MessageKind, ResponderStep, type RespondingQueuePair } from '../state/responder-state.ts';
import type { ResponderAnswers } from './responder-answers.ts';
import type { ResponderRefusals } from './responder-refusals.ts';
import type { ResponderRequest } from './responder-request.ts';

const { FIRST, ONLY, SEND, WRITE } = OpcodeFlag;
/** Codes of RNR timers double the time with every second one; code 0 is the longest time. */
const CODE_STEP = 4;
const CODE_MAX = 31;

export class ResponderPages {
  readonly #request: ResponderRequest;
  readonly #refusals: ResponderRefusals;
  readonly #answers: ResponderAnswers;
  readonly #faults: PageFaults;

  constructor(request: ResponderRequest, refusals: ResponderRefusals, answers: ResponderAnswers, faults: PageFaults) {
    this.#request = request;
    this.#refusals = refusals;
    this.#answers = answers;
    this.#faults = faults;
  }

  /**
   * The request in hand could not access memory. Returns the next state when it has missed a page;
   * undefined when it fails: there was another cause, or software refused the fault.
   */
  await(): ResponderStep | undefined {
    const { qp, state, packet, reliable } = this.#request;
    const marks = state.requestPages;
    if (!this.#faults.take() || marks.refused === state.countOf(packet.psn)) return undefined;
    if (packet.flags & (SEND | WRITE) && packet.flags & (FIRST | ONLY)) state.message = MessageKind.NONE;
    this.#faults.wait(state.qp, requests, packet.psn);
    if (!reliable) return this.#refusals.skip(PacketDrop.PAGE_ABSENT);
    const count = state.countOf(packet.psn);
    state.pageRepeats = marks.missed === count ? state.pageRepeats + 1 : 0;
    marks.missed = count;
    const code = timerCode(qp.attributes.minRnrTimer, state.pageRepeats);
    this.#answers.queueSyndrome(state, AethKind.RNR_NAK, code, state.expectedPsn);
    // Later packets are dropped silently until this one is repeated (IBTA 9.7.5.2.8).
    state.nakSent = true;
    return ResponderStep.EXIT;
  }
}

/** The peer repeats the request, so nothing is to be done when the page has come. */
const requests: PageWaiter<RespondingQueuePair> = {
  part: PagePart.REQUEST,
  resume: () => undefined,
  refuse: ({ responder: { requestPages } }) => {
    requestPages.refused = requestPages.missed;
  },
};

/** Each repetition waits four times as long, so that few of them last for a slow answer. */
function timerCode(first: number, repeats: number): number {
  return first === 0 ? 0 : Math.min(first + CODE_STEP * repeats, CODE_MAX);
}
