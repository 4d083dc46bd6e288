// SPDX-License-Identifier: Apache-2.0
/** Whether any function has a management command or a vector to send: idle functions are not looked at, so they cost nothing. */
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

  /** Returns the commands served. */
  manage(functions: readonly ManagedFunction[], management: ManagementProcessor): number {
    if (!this.#managementWaits) return 0;
    this.#managementWaits = false;
    let served = 0;
    for (const managed of functions) if (management.serve(managed)) served++;
    return served;
  }

  /** Once per pass, after all memory writes. What is masked stays pending. */
  flushVectors(functions: readonly ManagedFunction[]): void {
    if (!this.#vectorsWait) return;
    this.#vectorsWait = false;
    for (const { underlying } of functions) if (underlying.msix.flush()) this.#vectorsWait = true;
  }
}
