// SPDX-License-Identifier: Apache-2.0
/**
 * One send request of a chaos run: what was posted, and the checks of its completion and of memory
 * that show its correct execution. Made by `OperationSource`, `WindowKey` and `Endpoint`.
 */
import { CompletionStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import type { PostedWrite } from './exposed-memory.ts';

/** The effect of an atomic on a cell: 0 is the counter, 1 the cell to swap. */
export interface AtomicStep {
  readonly cell: 0 | 1;
  /** Value of the cell after the execution. */
  readonly after: bigint;
}

/** A posted request and the checks of its execution. */
export interface Operation {
  readonly name: string;
  readonly request: SendRequest;
  /** Payload of a message that consumes a receive entry of the other end. */
  readonly payload: Uint8Array | undefined;
  readonly immediate: number | undefined;
  /** R_Key that the receiver invalidates. */
  readonly invalidates: number | undefined;
  /** The other end must refuse it. */
  readonly bad: boolean;
  readonly write: PostedWrite | undefined;
  readonly atomic: AtomicStep | undefined;
  /** Called after success; describes a wrong result, or returns undefined. */
  check(): string | undefined;
}

/** An operation without any effect to check. */
export function newOperation(name: string): Operation {
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

/** Statuses with which a send may fail because of the other end. */
export const REMOTE_FAILURES: readonly number[] = [
  CompletionStatus.REMOTE_ACCESS_ERROR,
  CompletionStatus.REMOTE_INVALID_REQUEST_ERROR,
  CompletionStatus.REMOTE_OPERATION_ERROR,
];
