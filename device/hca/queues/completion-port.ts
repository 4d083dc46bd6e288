// SPDX-License-Identifier: Apache-2.0
/**
 * A completion queue as the transport and queue pairs see it (IBTA 11.4.2). The transport fills a
 * `completion-entry` (`protocol/layout/gen/completion-entry.gen.ts`) in the work space and posts
 * it. `CompletionQueue` writes it as it is; the CQ of a personality translates it into its own
 * format (docs/verbs/PERSONALITIES.md). `transport/completions.ts` calls it.
 */
import {
  getCompletionEntryQpn,
  getCompletionEntryQueueSequence,
  getCompletionEntryReceive,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';

export interface CompletionPort {
  readonly number: number;
  /** Number of work queues that complete here. */
  references: number;
  /** Clears the entry of the work space and returns it, for the generated setters at offset 0. */
  begin(): DataView;
  /**
   * Posts the entry of the work space. `solicited`: it also satisfies a request for solicited
   * completions. Returns false when the queue is in error; the QP then fails.
   */
  post(solicited: boolean): boolean;
}

/** The timeline gets the entry `work`, which was posted to CQ `cqn` as number `count`. */
export function noteCompletion(owner: UnderlyingFunction, work: DataView, cqn: number, count: number): void {
  const step = getCompletionEntryReceive(work, 0) === 1 ? Step.RECEIVE_COMPLETION : Step.SEND_COMPLETION;
  const sequence = getCompletionEntryQueueSequence(work, 0);
  owner.timeline?.note(step, owner.number, getCompletionEntryQpn(work, 0), sequence, cqn, count);
}
