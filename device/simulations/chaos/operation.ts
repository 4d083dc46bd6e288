// SPDX-License-Identifier: Apache-2.0
/** One send request of a chaos run: what was posted, and how to tell from its completion and from memory that it did what it should. */
import { CompletionStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../../hosts/in-process/driver/send-request.ts';
import type { PostedWrite } from './exposed-memory.ts';

/** An atomic changes a cell: the counter (0) or the one that is swapped (1). */
export interface AtomicStep {
  readonly cell: 0 | 1;
  /** What the cell holds when it has been executed. */
  readonly after: bigint;
}

export interface Operation {
  readonly name: string;
  readonly request: SendRequest;
  /** Consumes a receive entry of the other end. */
  readonly payload: Uint8Array | undefined;
  readonly immediate: number | undefined;
  /** R_Key that its receiver loses. */
  readonly invalidates: number | undefined;
  /** It is made so that the other end must refuse it. */
  readonly bad: boolean;
  readonly write: PostedWrite | undefined;
  readonly atomic: AtomicStep | undefined;
  /** Says what is wrong once it has succeeded. */
  check(): string | undefined;
}

export function plain(name: string): Operation {
  return {
    name,
    request: {},
    payload: undefined,
    immediate: undefined,
    invalidates: undefined,
    bad: false,
    write: undefined,
    atomic: undefined,
    check: () => undefined,
  };
}

/** Statuses a send of a connection may fail with when the other end or the wire is to blame. */
export const REMOTE_FAILURES: readonly number[] = [
  CompletionStatus.REMOTE_ACCESS_ERROR,
  CompletionStatus.REMOTE_INVALID_REQUEST_ERROR,
  CompletionStatus.REMOTE_OPERATION_ERROR,
];
