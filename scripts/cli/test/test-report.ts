// SPDX-License-Identifier: Apache-2.0
/**
 * Report of a job of `vuhca test` that has ended, and the exit status that follows. Pure. The judge
 * of single results is guest-tests/harness/ktap.ts. Called by test-action.ts and the writers of
 * results.
 */

import type { GuestRun } from '../../../guest-tests/harness/guest-run.ts';
import type { GuestFault, TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { excerptLog } from '../../../guest-tests/harness/log-excerpt.ts';
import { TestStatus } from '../session/exit-statuses.ts';

/** A failed result, or a fault, with its context. */
export interface Failure {
  readonly title: string;
  /** The result that failed; absent for a fault. */
  readonly result?: TestResult;
  readonly details: readonly string[];
  readonly kernelLog: readonly string[];
  /** The adapter's faults and last steps at that time. */
  readonly adapter: readonly string[];
}

/** A job that has ended. */
export interface JobReport {
  /** The folder, or another name that distinguishes it from other jobs. */
  readonly name: string;
  readonly run: GuestRun;
  /** State of the adapter, by the result or fault it was read at. */
  readonly adapter: ReadonlyMap<TestResult | GuestFault, readonly string[]>;
  /** The recording that was kept. */
  readonly recording?: string;
  /** The command that runs it again with the same seeds. */
  readonly again?: string;
}

export interface JobCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const FAULTS_SHOWN = 5;

/** The name of a result where one line must hold it. */
export function nameOf({ path }: TestResult): string {
  return path.join('/');
}

/** Results without those that only sum up their subtests. */
export function leaves({ run }: JobReport): TestResult[] {
  return run.results.filter(({ parent }) => !parent);
}

export function countResults(report: JobReport): JobCounts {
  const results = leaves(report);
  const skipped = results.filter(({ skipped }) => skipped !== undefined).length;
  const failed = results.filter(({ ok }) => !ok).length;
  return { passed: results.length - failed - skipped, failed, skipped };
}

/** The failures in the order of their time. */
export function findFailures(report: JobReport): Failure[] {
  const { run, adapter } = report;
  const around = (entry: TestResult | GuestFault): Pick<Failure, 'kernelLog' | 'adapter'> => ({
    kernelLog: withoutBoot(excerptLog(run, entry)),
    adapter: adapter.get(entry) ?? [],
  });
  const failed = leaves(report).filter(({ ok }) => !ok);
  const kernel = run.faults.filter(({ kind }) => kind === 'kernel');
  const others = run.faults.filter(({ kind }) => kind !== 'kernel');
  return [
    ...failed.map((result) => ({ title: nameOf(result), result, details: result.diagnostics, ...around(result) })),
    ...kernel.slice(0, 1).map((fault) => ({
      title: fault.text,
      details: kernel.slice(1, FAULTS_SHOWN).map(({ text }) => text),
      ...around(fault),
    })),
    ...others.map((fault) => ({ title: fault.text, details: [], ...around(fault) })),
  ];
}

/** Leaves out the lines of the boot, which end with the mark of the first step. */
function withoutBoot(lines: readonly string[]): readonly string[] {
  const mark = lines.findIndex((line) => line.includes('@vuhca '));
  return lines[mark]?.includes('@vuhca step load') || lines[mark]?.includes('@vuhca step script')
    ? lines.slice(mark)
    : lines;
}

/** The status of one job. */
export function statusOf(report: JobReport): TestStatus {
  const has = (...kinds: readonly string[]): boolean => report.run.faults.some(({ kind }) => kinds.includes(kind));
  if (has('kernel')) return TestStatus.KERNEL_COMPLAINED;
  if (has('silence')) return TestStatus.SILENT;
  if (has('adapter')) return TestStatus.ADAPTER_FAILED;
  if (has('guest')) return TestStatus.SILENT;
  const failed = leaves(report).filter(({ ok }) => !ok);
  if (failed.some(({ step }) => step === 'load' || step === 'bind')) return TestStatus.NOT_LOADED;
  return failed.length > 0 || has('results', 'order') ? TestStatus.FAILED : TestStatus.PASSED;
}

/** The most serious status of several jobs. */
export function worstStatus(statuses: readonly TestStatus[]): TestStatus {
  return Math.max(TestStatus.PASSED, ...statuses) as TestStatus;
}
