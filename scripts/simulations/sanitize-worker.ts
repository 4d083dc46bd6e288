// SPDX-License-Identifier: Apache-2.0
/**
 * A process of sanitize.ts: runs batches of seeds of one row of the matrix and reports those that
 * failed.
 */
import { findBug } from '../../device/rig/sanitize/matrix.ts';
import { runSanitize } from '../../device/rig/sanitize/run.ts';

export interface SanitizeBatch {
  readonly row: number;
  /** Name of the bug; none for the clean driver. */
  readonly bug: string | undefined;
  readonly first: number;
  readonly count: number;
}

export interface SanitizeReport {
  readonly row: number;
  readonly failures: { readonly seed: number; readonly error: string }[];
}

process.on('message', ({ row, bug, first, count }: SanitizeBatch) => {
  const failures: SanitizeReport['failures'] = [];
  for (let seed = first; seed < first + count; seed++) {
    const { error } = runSanitize(seed, bug === undefined ? undefined : findBug(bug));
    if (error !== undefined) failures.push({ seed, error });
  }
  process.send?.({ row, failures } satisfies SanitizeReport);
});
