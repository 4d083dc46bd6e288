// SPDX-License-Identifier: Apache-2.0
/**
 * Notes that some function has a management command, or a vector to send. A pass looks at the
 * functions only then, so idle functions cost nothing.
 */
import type { ManagedFunction } from '../management/managed-adapter.ts';
import type { ManagementProcessor } from '../management/management-processor.ts';

export class PendingWork {
  #managementWaits = false;
  #vectorsWait = false;

  /** A function has a management command. */
  noteManagement(): void {
    this.#managementWaits = true;
  }

  /** A function has a vector to send. */
  noteVector(): void {
    this.#vectorsWait = true;
  }

  /** Serves waiting management commands, the oldest of each function; returns how many. */
  manage(functions: readonly ManagedFunction[], management: ManagementProcessor): number {
    if (!this.#managementWaits) return 0;
    this.#managementWaits = false;
    let served = 0;
    for (const managed of functions) {
      if (management.serve(managed)) served++;
      if (managed.pendingManagement.length > 0) this.#managementWaits = true;
    }
    return served;
  }

  /** Sends vectors: once per pass, after all memory writes. Masked vectors stay pending. */
  flushVectors(functions: readonly ManagedFunction[]): void {
    if (!this.#vectorsWait) return;
    this.#vectorsWait = false;
    for (const { underlying } of functions) if (underlying.msix.flush()) this.#vectorsWait = true;
  }
}
