// SPDX-License-Identifier: Apache-2.0
/**
 * Work that functions have for the end of a pass or for the service processor: vectors to send, and
 * management commands. A pass looks at the functions only when such work is noted, so idle
 * functions cost nothing.
 */
import { LoanBook } from '../../loan-book.ts';
import type { FunctionNotes } from '../function/underlying-function.ts';
import type { ManagedFunction } from '../management/managed-adapter.ts';
import type { ManagementProcessor } from '../management/management-processor.ts';

export class PendingWork implements FunctionNotes {
  readonly loans = new LoanBook();
  #managementWaits = false;
  #vectorsWait = false;

  /** A function has a management command. */
  noteManagement(): void {
    this.#managementWaits = true;
  }

  /** A function has a vector to send; `flushVectors` sends it. */
  noteVector(): void {
    this.#vectorsWait = true;
  }

  /** Serves the oldest management command of each function; returns what that cost in commands. */
  manage(functions: readonly ManagedFunction[], management: ManagementProcessor): number {
    if (!this.#managementWaits) return 0;
    this.#managementWaits = false;
    this.loans.end();
    let cost = 0;
    for (const managed of functions) {
      cost += management.serve(managed);
      if (managed.pendingManagement.length > 0) this.#managementWaits = true;
    }
    return cost;
  }

  /** Sends vectors: once per pass, after all memory writes. Masked vectors stay pending. */
  flushVectors(functions: readonly ManagedFunction[]): void {
    if (!this.#vectorsWait) return;
    this.#vectorsWait = false;
    for (const { underlying } of functions) if (underlying.msix.flush()) this.#vectorsWait = true;
  }
}
