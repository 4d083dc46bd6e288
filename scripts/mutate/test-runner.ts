// SPDX-License-Identifier: Apache-2.0
/**
 * The test runner that Stryker loads into its worker process: tests are loaded once, and a mutant
 * is switched on between two executions. @stryker-mutator/tap-runner starts a process for each test
 * file and mutant, which costs a second or more where a unit's tests themselves take milliseconds.
 * The second plugin leaves messages of errors as they are. Named in run-area.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type InstrumenterContext,
  INSTRUMENTER_CONSTANTS as names,
  type StrykerOptions,
} from '@stryker-mutator/api/core';
import { commonTokens, declareClassPlugin, declareValuePlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner';
import './string-messages.ts';
import { type Coverage, isBeside, keepQuickest } from './quickest-tests.ts';
import { executeTest, type RecordedTest, recordTests } from './recorded-tests.ts';
import { describeSurvivor, isSame } from './results.ts';
import { RUNNER_NAME, type RunnerOptions } from './runner-options.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In the copy of the repository: milliseconds of processor time of each test, by its id. */
const TIMES = 'test-times.json';
/** How often each test reaches each mutant. */
const REACHED = 'test-coverage.json';
/**
 * Stryker's limit: a mutant in a loop may be reached this many times as often as the code without
 * it.
 */
const HIT_FACTOR = 100;

class InProcessRunner implements TestRunner {
  static readonly inject = tokens(commonTokens.options);
  readonly #options: RunnerOptions;
  readonly #context: InstrumenterContext = {};
  #tests: RecordedTest[] | undefined;
  #reached: Coverage | undefined;
  readonly #times: Record<string, number> = {};

  constructor(options: StrykerOptions) {
    this.#options = JSON.parse(options[RUNNER_NAME] as string);
    Object.assign(globalThis, { [names.NAMESPACE]: this.#context });
  }

  capabilities(): { reloadEnvironment: boolean } {
    return { reloadEnvironment: false };
  }

  async dryRun(): Promise<DryRunResult> {
    const result = await this.#execute(await this.#load(), false);
    if (result.status !== DryRunStatus.Complete) return result;
    writeFileSync(TIMES, JSON.stringify(this.#times));
    const { mutantCoverage } = this.#context;
    if (mutantCoverage === undefined) return result;
    writeFileSync(REACHED, JSON.stringify(mutantCoverage.perTest));
    keepQuickest(mutantCoverage.perTest, this.#times, this.#options.budget);
    return { ...result, mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }: MutantRunOptions): Promise<MutantRunResult> {
    const { deadline } = this.#options;
    if (deadline !== null && Date.now() > deadline)
      return { status: MutantRunStatus.Error, errorMessage: 'no time left for this mutant' };
    if (!this.#isAsked(activeMutant)) return { status: MutantRunStatus.Error, errorMessage: 'not asked for' };
    const tests = this.#tests ?? sortByTime(await this.#load());
    this.#reached ??= JSON.parse(readFileSync(REACHED, 'utf8')) as Coverage;
    const reached = this.#reached;
    const mutant = { id: activeMutant.id, file: relative(ROOT, activeMutant.fileName) };
    const wanted = tests.filter((test) => testFilter?.includes(test.id) !== false || isBeside(test, mutant, reached));
    const hits = wanted.reduce((sum, { id }) => sum + (reached[id]?.[mutant.id] ?? 0), 0);
    const most = hitLimit && Math.max(hitLimit, HIT_FACTOR * hits);
    Object.assign(this.#context, { activeMutant: mutant.id, hitLimit: most, hitCount: most && 0 });
    return toMutantRunResult(await this.#execute(wanted, true), false);
  }

  /** Stryker counts lines and columns of an active mutant from 0. */
  #isAsked({ fileName, replacement, location: { start, end } }: MutantRunOptions['activeMutant']): boolean {
    const { only } = this.#options;
    if (only === undefined) return true;
    const shift = ({ line, column }: { line: number; column: number }) => ({ line: line + 1, column: column + 1 });
    const location = { start: shift(start), end: shift(end) };
    const outcome = { fileName: relative(ROOT, fileName), status: '', replacement, location };
    const found = describeSurvivor(outcome, readFileSync(fileName, 'utf8'), []);
    return only.some((one) => isSame(one, found));
  }

  async #load(): Promise<RecordedTest[]> {
    this.#tests ??= await recordTests(this.#options.tests);
    return this.#tests;
  }

  async #execute(tests: readonly RecordedTest[], bail: boolean): Promise<DryRunResult> {
    const results: TestResult[] = [];
    for (const test of tests) {
      const { id, name, path: fileName } = test;
      this.#context.currentTestId = id;
      const begin = performance.now();
      const { user } = process.cpuUsage();
      const failureMessage = await executeTest(test);
      this.#times[id] = (process.cpuUsage().user - user) / 1000;
      const limit = determineHitLimitReached(this.#context.hitCount, this.#context.hitLimit);
      if (limit !== undefined) return limit;
      const base = { id, name, fileName, timeSpentMs: performance.now() - begin };
      if (failureMessage === undefined) results.push({ ...base, status: TestStatus.Success });
      else results.push({ ...base, status: TestStatus.Failed, failureMessage });
      if (bail && failureMessage !== undefined) break;
    }
    return { status: DryRunStatus.Complete, tests: results };
  }
}

/** Quick tests first: most mutants are killed by them. */
function sortByTime(tests: RecordedTest[]): RecordedTest[] {
  const times: Record<string, number> = JSON.parse(readFileSync(TIMES, 'utf8'));
  return tests.sort((a, b) => times[a.id] - times[b.id]);
}

/** The part of Babel's paths that the second plugin needs. */
interface SyntaxPath {
  isThrowStatement(): boolean;
}

const messages = {
  shouldIgnore: (path: unknown) =>
    (path as SyntaxPath).isThrowStatement() ? 'the message of an error is not a mechanism' : undefined,
};

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, RUNNER_NAME, InProcessRunner),
  declareValuePlugin(PluginKind.Ignore, 'messages', messages),
];
