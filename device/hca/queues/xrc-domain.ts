// SPDX-License-Identifier: Apache-2.0
/**
 * XRC domain (IBTA annex A14): ties XRC target QPs to the XRC shared receive queues that their
 * peers may name in the XRCETH of a request. Management creates it; the responder looks up queues
 * through the domain of the QP.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { CompletionPort } from './completion-port.ts';
import type { SharedReceiveSource } from './receive-source.ts';

/** The domain of an XRC SRQ, and the CQ of the requests that it takes. */
export interface XrcBinding {
  readonly domain: XrcDomain;
  readonly cq: CompletionPort;
}

/** A shared receive queue as XRC target QPs see it. */
export interface XrcReceiveSource extends SharedReceiveSource {
  readonly owner: UnderlyingFunction;
  /** Guards the memory that requests access: an XRC target has no PD of its own. */
  readonly pd: ProtectionDomain;
  /** Undefined: the SRQ belongs to no XRC domain. */
  readonly xrc: XrcBinding | undefined;
}

/** The shared receive queues of all functions by their numbers. */
export interface XrcQueueLookup {
  get(number: number): XrcReceiveSource | undefined;
}

export class XrcDomain {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of XRC SRQs and of XRC target QPs in it. */
  references = 0;
  readonly #queues: XrcQueueLookup;

  constructor(number: number, owner: UnderlyingFunction, queues: XrcQueueLookup) {
    this.number = number;
    this.owner = owner;
    this.#queues = queues;
  }

  /** The SRQ with this number in the domain. */
  find(number: number): XrcReceiveSource | undefined {
    const queue = this.#queues.get(number);
    return queue?.xrc?.domain === this ? queue : undefined;
  }

  /** Why `find` found no queue. Queues of other functions are as if they did not exist. */
  faultOf(number: number): FaultKind {
    const queue = this.#queues.get(number);
    return queue?.xrc !== undefined && queue.owner === this.owner ? FaultKind.XRC_DOMAIN : FaultKind.XRC_QUEUE;
  }
}
