// SPDX-License-Identifier: Apache-2.0
/**
 * Shared receive queue: receive WQEs for all QPs that name it, and an event when few are left
 * (IBTA 10.2.9). An XRC SRQ belongs to an XRC domain and has a CQ (annex A14). Management creates
 * it; the receive queue reader takes its WQEs.
 */

import { EventType, FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { ReceiveRing } from './receive-ring.ts';
import type { XrcBinding, XrcReceiveSource } from './xrc-domain.ts';

export class SharedReceiveQueue implements XrcReceiveSource, FaultSubject {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  readonly ring: ReceiveRing;
  readonly xrc: XrcBinding | undefined;
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of QPs that receive from it. */
  references = 0;
  /** Fewer posted WQEs than this cause one event; 0: no event. */
  limit = 0;

  constructor(number: number, pd: ProtectionDomain, ring: ReceiveRing, xrc?: XrcBinding) {
    this.number = number;
    this.owner = pd.owner;
    this.pd = pd;
    this.ring = ring;
    this.xrc = xrc;
    pd.references++;
    if (xrc === undefined) return;
    xrc.domain.references++;
    xrc.cq.references++;
  }

  get faultObject(): FaultObject {
    return FaultObject.SRQ;
  }

  get translationEntries(): number {
    return this.ring.translationEntries;
  }

  /**
   * Posts the limit event once when it is due (IBTA 10.2.9.2). Called after a WQE was taken or the
   * limit was set.
   */
  checkLimit(): void {
    if (this.limit === 0 || this.ring.known >= this.limit) return;
    // Software may have posted since the tail was read.
    this.ring.refresh(this.owner, this);
    if (this.ring.known >= this.limit) return;
    this.limit = 0;
    this.owner.postAsynchronous(EventType.SRQ_LIMIT, this, FaultKind.NONE);
  }

  /** Returns the references that the constructor took. */
  release(): void {
    this.pd.references--;
    if (this.xrc === undefined) return;
    this.xrc.domain.references--;
    this.xrc.cq.references--;
  }
}
