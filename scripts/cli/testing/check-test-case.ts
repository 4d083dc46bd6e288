// SPDX-License-Identifier: Apache-2.0
/**
 * Runs `vuhca test` as its users do and checks exit status and output. Called by
 * test-command.test.ts and test-command.long.ts.
 */
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { TestStatus } from '../session/exit-statuses.ts';
import { type CliResult, runCli } from './run-cli.ts';

/** A complete small driver with a test. */
export const EXAMPLE = fileURLToPath(new URL('../../../guest-tests/example', import.meta.url));
/** Modules with defects. */
export const FIXTURES = fileURLToPath(new URL('../test/testing/modules', import.meta.url));

/** A job, its exit status, and its expected output. */
export interface Case {
  readonly words: readonly string[];
  readonly status: TestStatus;
  readonly says: readonly RegExp[];
  /** Checks other results of the job. */
  readonly after?: (t: Test) => void;
}

export async function check(t: Test, { words, status, says, after }: Case): Promise<CliResult> {
  const result = await runCli(['test', ...words]);
  t.equal(result.status, status, result.stderr + result.stdout);
  for (const pattern of says) t.match(result.stdout + result.stderr, pattern);
  after?.(t);
  return result;
}
