// SPDX-License-Identifier: Apache-2.0
/**
 * Receive queues as the transport sees them (IBTA 10.2.4, 10.2.9): posted WQEs that it takes in
 * order. `ReceiveRing` implements the queue of the adapter's own front end; a personality brings
 * its own (docs/verbs/PERSONALITIES.md). `ReceiveQueueReader` calls it for each QP.
 */
import type { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';

/** The list that a WQE is decoded into; `ScatterGatherList` implements it. */
export interface ReceiveList {
  /**
   * Appends `count` elements that are adjacent at `base` of `view`, in the layout of
   * `protocol/layout/gen/sge.gen.ts`; at most `SGE_MAX` in all.
   */
  addFrom(view: DataView, base: number, count: number): void;
}

/**
 * The queue of a QP or of a shared receive queue. `owner` and `subject`: those of the QP at work.
 */
export interface ReceiveSource {
  /** Number of the next WQE to take, as completions report it. */
  readonly head: number;
  /** Number of WQEs known to be posted and not taken; reads no guest memory. */
  readonly known: number;
  /** True when a WQE is posted; reads software's counter if none is known. */
  available(owner: UnderlyingFunction, subject: FaultSubject): boolean;
  /** Number of posted WQEs, as end-to-end credits (IBTA 9.7.7.2). Not called for a shared queue. */
  credits(owner: UnderlyingFunction, subject: FaultSubject): number;
  /** Takes the oldest WQE and returns its number. Only after `available` returned true. */
  take(): number;
  /**
   * Reads the WQE that was taken last, `number`, and appends its elements to `list`, which is
   * empty. Returns NONE or the fault, which has been reported.
   */
  read(owner: UnderlyingFunction, subject: FaultSubject, number: number, list: ReceiveList): FaultKind;
  /**
   * Puts the WQE that was taken last back. A front end without on-demand regions has no use for it.
   */
  giveBack?(): void;
  /** Entries of the translation table that it takes; left out: none. */
  readonly translationEntries?: number;
  /** Empties the queue of a QP that is reset. Not called for a shared queue. */
  reset(): void;
}

/** A shared receive queue as queue pairs and the transport see it. */
export interface SharedReceiveSource {
  /** The SRQ number in completions. */
  readonly number: number;
  /** Number of QPs that receive from it. */
  references: number;
  readonly ring: ReceiveSource;
  /** Posts the limit event once when it is due (IBTA 10.2.9.2). Called after each `take`. */
  checkLimit(): void;
}
