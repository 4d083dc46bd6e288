// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `vuhca test` for people: a line for each result as it arrives, then each failure
 * with the kernel's log and the state of the adapter around it, then the sum. Pure: reports in,
 * text out.
 */
import type { TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { countResults, findFailures, type JobReport, statusOf } from './test-report.ts';

const INDENT = '          ';

/** The line of one result. */
export function resultLine({ path, ok, skipped, diagnostics, seconds, parent, step }: TestResult): string {
  const verdict = skipped !== undefined ? 'skipped' : ok ? 'ok' : 'FAILED';
  const remark = skipped ?? (step === undefined || !ok ? '' : diagnostics.join(' '));
  const name = `${'  '.repeat(path.length - 1)}${path.at(-1)}${parent ? ' (all of it)' : ''}`;
  return `${seconds.toFixed(1).padStart(6)} s  ${verdict.padEnd(8)}${`${name}  ${remark}`.trimEnd()}`;
}

/** All failures of a job, and its sum. */
export function describeJob(report: JobReport): string {
  const failures = findFailures(report).flatMap(({ title, details, kernelLog, adapter }) => [
    '',
    `FAILED    ${title}`,
    ...details.map((line) => `${INDENT}${line}`),
    ...(kernelLog.length === 0 ? [] : [`${INDENT}kernel log around it:`]),
    ...kernelLog.map((line) => `${INDENT}  ${line}`),
    ...(adapter.length === 0 ? [] : [`${INDENT}adapter at that time:`]),
    ...adapter.map((line) => `${INDENT}  ${line}`),
  ]);
  return [...failures, '', sumLine(report), ''].join('\n');
}

function sumLine(report: JobReport): string {
  const { passed, failed, skipped } = countResults(report);
  const { faults } = report.run;
  const parts = [
    `${passed} passed`,
    `${failed} failed`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(faults.length > 0 ? [`${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`] : []),
  ];
  const kept = report.recording === undefined ? '' : `; \`vuhca replay ${report.recording}\` runs it again`;
  const verdict = statusOf(report) === 0 ? 'passed' : 'FAILED';
  return `${verdict}: ${report.name}: ${parts.join(', ')}, ${report.run.seconds.toFixed(1)} s${kept}`;
}
