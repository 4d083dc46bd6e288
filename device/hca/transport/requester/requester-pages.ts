// SPDX-License-Identifier: Apache-2.0
/**
 * Requesters that wait for pages of their own memory (docs/FEATURES.md, On-demand paging):
 * payload that cannot be read yet waits before its packet; a response that cannot be placed yet is
 * dropped, and asked for again as after an RNR NAK (IBTA 9.7.5.2.8). Requester and completer call
 * it.
 */
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { PagePart } from '../../function/timeline-values.ts';
import type { KeyHolder } from '../../protection/key-holder.ts';
import type { PageFaults, PageWaiter } from '../../protection/page-faults.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { requesterOf } from '../state/connected-states.ts';
import { type RequesterState, RequesterWait } from '../state/requester-state.ts';
import type { SendRecord } from '../state/send-record.ts';
import type { RetryTimers } from './retry-timers.ts';

/** A response is asked for again after this time although no answer to the fault has come. */
const RESPONSE_WAIT_NS = 1e9;

export interface RequesterPagesParts {
  readonly faults: PageFaults;
  readonly timers: RetryTimers;
  now(): number;
  rewind(state: RequesterState, psn: number): void;
  /** The QP may send, and its send queue may be read. */
  resume(qp: QueuePair): void;
  /** The QP waits: returns records that have not begun to the send queue. */
  returnUnbegun(qp: QueuePair): void;
  completeDone(qp: QueuePair): void;
  failOldest(qp: QueuePair, status: CompletionStatus, fault: FaultKind, psn: number): void;
}

export class RequesterPages {
  readonly #parts: RequesterPagesParts;

  constructor(parts: RequesterPagesParts) {
    this.#parts = parts;
  }

  /** Returns true when the next packet of `record` waits for a page of its payload. */
  awaitPayload(state: RequesterState, record: SendRecord): boolean {
    const psn = addPsn(record.firstPsn, record.packetsSent);
    if (!this.#parts.faults.take() || state.refusedPsn === psn) return false;
    state.wait = RequesterWait.PAGE;
    this.#wait(state, psn, this.#payloads);
    return true;
  }

  /** Returns true when the response with `psn` was dropped and waits for a page. */
  awaitResponse(state: RequesterState, psn: number): boolean {
    const { faults, timers, now } = this.#parts;
    if (!faults.take()) return false;
    state.wait = RequesterWait.RNR;
    timers.deadlineNs = now() + RESPONSE_WAIT_NS;
    timers.set(state);
    this.#wait(state, psn, this.#responses);
    return true;
  }

  #wait(state: RequesterState, psn: number, waiter: PageWaiter): void {
    this.#parts.faults.wait(state.qp, waiter, psn);
    this.#parts.returnUnbegun(state.qp);
  }

  readonly #payloads: PageWaiter = {
    part: PagePart.PAYLOAD,
    resume: (holder) => this.#sendAgain(holder),
    refuse: (holder, psn) => {
      stateOf(holder).refusedPsn = psn;
      this.#sendAgain(holder);
    },
  };

  readonly #responses: PageWaiter = {
    part: PagePart.RESPONSE,
    resume: (holder) => {
      const state = stateOf(holder);
      if (state.wait !== RequesterWait.RNR) return;
      state.wait = RequesterWait.NONE;
      this.#parts.timers.turnOff(state);
      this.#parts.rewind(state, state.unackedPsn);
      this.#parts.resume(state.qp);
    },
    refuse: (holder, psn) => {
      const state = stateOf(holder);
      if (state.wait !== RequesterWait.RNR || state.unackedPsn !== psn) return;
      this.#parts.completeDone(state.qp);
      const status = CompletionStatus.LOCAL_PROTECTION_ERROR;
      this.#parts.failOldest(state.qp, status, FaultKind.PAGE_FAULT, psn);
    },
  };

  #sendAgain(holder: KeyHolder): void {
    const state = stateOf(holder);
    if (state.wait === RequesterWait.PAGE) state.wait = RequesterWait.NONE;
    this.#parts.resume(state.qp);
  }
}

function stateOf(holder: KeyHolder): RequesterState {
  return requesterOf(holder as QueuePair) as RequesterState;
}
