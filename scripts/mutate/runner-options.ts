// SPDX-License-Identifier: Apache-2.0
/** Options that run-area.ts passes to the test runner in the worker process. */

/** Name of the runner, and of the option with its RunnerOptions as JSON. */
export const RUNNER_NAME = 'in-process';

import type { SurvivorName } from './results.ts';

export interface RunnerOptions {
  /** Test files, from the root of the repository. */
  readonly tests: readonly string[];
  /** Milliseconds since 1970 from which no mutant is tried any more; null for never. */
  readonly deadline: number | null;
  /** Milliseconds of processor time that the tests of a mutant may take. */
  readonly budget: number;
  /** Without it all mutants are tried, otherwise these. */
  readonly only?: readonly SurvivorName[];
}
