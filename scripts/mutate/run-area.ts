// SPDX-License-Identifier: Apache-2.0
/**
 * Runs Stryker over one area in a copy of the repository under build/mutate. Results are kept there
 * and used again while a mutant's code and its tests are the same. Called by main.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { type Area, testsOf } from './areas.ts';
import { type MutantOutcome, type SurvivorName, wasLate } from './results.ts';
import { RUNNER_NAME, type RunnerOptions } from './runner-options.ts';

/**
 * Milliseconds of processor time that the tests of a mutant may take. Times of the first tests of a
 * process are too long, so a known survivor meets more of them.
 */
const BUDGET = 300;
const BUDGET_OF_SURVIVOR = 1000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface RunOptions {
  /** Source files, or parts of them as `path:first-last`. */
  readonly mutate: readonly string[];
  readonly concurrency: number;
  /** Uses results of earlier runs, and keeps those of this one. */
  readonly keep: boolean;
  /** Milliseconds since 1970 from which no mutant is tried any more. */
  readonly deadline: number;
  /** Tries all mutants again, even those with a known result. */
  readonly force: boolean;
  /** Tries only these; the others count as not tried for lack of time. */
  readonly only?: readonly SurvivorName[];
}

/** The results of all mutants of the area. */
export async function runArea(area: Area, options: RunOptions): Promise<readonly MutantOutcome[]> {
  // The worker's root test of tap has no end; Stryker bounds the tests.
  Object.assign(process.env, { TAP_TIMEOUT: '0', NODE_OPTIONS: '--import=#typescript' });
  const { deadline, only } = options;
  const budget = only === undefined ? BUDGET : BUDGET_OF_SURVIVOR;
  const runner: RunnerOptions = { tests: testsOf(area), deadline, budget, ...(only && { only }) };
  const settings: PartialStrykerOptions = {
    testRunner: RUNNER_NAME,
    plugins: [join(ROOT, 'scripts/mutate/test-runner.ts')],
    [RUNNER_NAME]: JSON.stringify(runner),
    ignorers: ['messages'],
    mutate: [...options.mutate],
    coverageAnalysis: 'perTest',
    // A mutant in a module's constants needs a new process: the tables are tested by their users.
    ignoreStatic: true,
    concurrency: options.concurrency,
    timeoutMS: 15_000,
    timeoutFactor: 3,
    dryRunTimeoutMinutes: 15,
    incremental: options.keep,
    incrementalFile: keptResults(area),
    force: options.force,
    reporters: ['progress-append-only'],
    tempDirName: 'build/mutate/copy',
    cleanTempDir: 'always',
    disableTypeChecks: false,
    // Stryker cannot read the file with the interface of TypeScript 7, and tsx does not need it.
    tsconfigFile: 'none',
    ignorePatterns: ['guest-tests', 'qemu', 'docs', 'build', '.tap'],
    warnings: false,
    allowConsoleColors: false,
  };
  const outcomes = await new Stryker(settings).runMutationTest();
  if (options.keep && outcomes.some(wasLate)) forgetLate(area);
  return outcomes.map((outcome) => ({ ...outcome, fileName: relative(ROOT, outcome.fileName) }));
}

/** Removes mutants that were not tried from the kept results, so that the next run tries them. */
function forgetLate(area: Area): void {
  const path = join(ROOT, keptResults(area));
  const report: { files: Record<string, { mutants: MutantOutcome[] }> } = JSON.parse(readFileSync(path, 'utf8'));
  for (const file of Object.values(report.files)) file.mutants = file.mutants.filter((mutant) => !wasLate(mutant));
  writeFileSync(path, JSON.stringify(report));
}

function keptResults(area: Area): string {
  return `build/mutate/${area.name}.json`;
}
