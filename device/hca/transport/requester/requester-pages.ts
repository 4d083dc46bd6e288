// SPDX-License-Identifier: Apache-2.0
/**
 * Requesters that wait for pages of their own memory (docs/FEATURES.md, On-demand paging):
 * payload that cannot be read yet waits before its packet; a response that cannot be placed yet is
 * dropped, and asked for again as after an RNR NAK (IBTA 9.7.5.2.8). Requester and completer call
 * it.
 */
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { AdapterClock } from '../../../host.ts';
import { PagePart } from '../../function/timeline-values.ts';
import type { PageFaults, PageWaiter } from '../../protection/page-faults.ts';
import { type RequesterState, RequesterWait, type RequestingQueuePair } from '../state/requester-state.ts';
import type { SendRecord } from '../state/send-record.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { RecordEndings } from './send-record-life.ts';

/** A response is asked for again after this time although no answer to the fault has come. */
const RESPONSE_WAIT_NS = 1e9;

/** A requester that goes on when a page has come; `Requester` implements it. */
export interface PausedRequester {
  /** Sends again from the packet with `psn` on. */
  rewind(state: RequesterState, psn: number): void;
  /** A wait is over: the QP may send, and its send queue may be read again. */
  resume(state: RequesterState): void;
}

export interface RequesterPagesParts {
  readonly requester: PausedRequester;
  readonly records: RecordEndings;
  readonly faults: PageFaults;
  readonly timers: RetryTimers;
  readonly clock: AdapterClock;
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
    const { faults, timers, clock } = this.#parts;
    if (!faults.take()) return false;
    state.wait = RequesterWait.RNR;
    timers.deadlineNs = clock.now() + RESPONSE_WAIT_NS;
    timers.set(state);
    this.#wait(state, psn, this.#responses);
    return true;
  }

  #wait(state: RequesterState, psn: number, waiter: PageWaiter<RequestingQueuePair>): void {
    this.#parts.faults.wait(state.qp, waiter, psn);
    this.#parts.records.returnUnbegun(state);
  }

  readonly #payloads: PageWaiter<RequestingQueuePair> = {
    part: PagePart.PAYLOAD,
    resume: ({ requester }) => this.#sendAgain(requester),
    refuse: ({ requester }, psn) => {
      requester.refusedPsn = psn;
      this.#sendAgain(requester);
    },
  };

  readonly #responses: PageWaiter<RequestingQueuePair> = {
    part: PagePart.RESPONSE,
    resume: ({ requester: state }) => {
      if (state.wait !== RequesterWait.RNR) return;
      state.wait = RequesterWait.NONE;
      this.#parts.timers.turnOff(state);
      this.#parts.requester.rewind(state, state.unackedPsn);
      this.#parts.requester.resume(state);
    },
    refuse: ({ requester: state }, psn) => {
      if (state.wait !== RequesterWait.RNR || state.unackedPsn !== psn) return;
      this.#parts.records.completeDone(state);
      this.#parts.records.failOldest(state, CompletionStatus.LOCAL_PROTECTION_ERROR, FaultKind.PAGE_FAULT, psn);
    },
  };

  #sendAgain(state: RequesterState): void {
    if (state.wait === RequesterWait.PAGE) state.wait = RequesterWait.NONE;
    this.#parts.requester.resume(state);
  }
}
