// SPDX-License-Identifier: Apache-2.0
/**
 * Null objects for queues that a queue pair lacks: one of XRC (IBTA annex A14), or one that only
 * sends.
 */
import { COMPLETION_ENTRY_SIZE } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { CompletionPort } from './completion-port.ts';
import type { ReceiveSource } from './receive-source.ts';

/** A CQ with number 0 that discards what is posted. */
export class AbsentCompletionQueue implements CompletionPort {
  readonly number = 0;
  references = 0;

  begin(): DataView {
    return new DataView(new ArrayBuffer(COMPLETION_ENTRY_SIZE));
  }

  post(): boolean {
    return true;
  }
}

/** A receive queue that is always empty and grants no credits. */
export const absentReceiveQueue: ReceiveSource = {
  head: 0,
  known: 0,
  available: () => false,
  /** No limit: a target receives from shared queues (IBTA 9.7.7.2). */
  credits: () => -1,
  take: () => 0,
  read: () => FaultKind.RECEIVE_ENTRY,
  reset: () => {},
};
