// SPDX-License-Identifier: Apache-2.0
/**
 * The units beside the completer (completer.ts), as it sees them. connected-transport.ts makes
 * them.
 */
import type { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Requester } from './requester.ts';
import type { RequesterPages } from './requester-pages.ts';
import type { RetryTimers } from './retry-timers.ts';

/** Units that the completer uses, and functions that end or resume records. */
export interface CompleterParts {
  readonly requester: Requester;
  readonly timers: RetryTimers;
  now(): number;
  /** The oldest records may be done. */
  completeDone(qp: QueuePair): void;
  /** The oldest record ends with an error; all records behind it are flushed. */
  failOldest(qp: QueuePair, status: CompletionStatus, fault: FaultKind, psn?: number, syndrome?: number): void;
  /** A wait is over: the send queue may be read again. */
  resume(qp: QueuePair): void;
  /** Returns records that have not begun to the send queue. */
  returnUnbegun(qp: QueuePair): void;
  readonly pages: RequesterPages;
}
