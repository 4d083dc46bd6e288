// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `vuhca test` for people: a line for each result as it arrives, then each failure
 * with the kernel's log and the state of the adapter around it, then the sum. Pure: reports in,
 * text out.
 */
import type { TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { countResults, findFailures, type JobReport, statusOf } from './test-report.ts';

const INDENT = '          ';
const ADAPTER_TITLE = 'adapter at that time';

/** The line of one result. */
export function resultLine({ path, ok, skipped, diagnostics, seconds, parent, step }: TestResult): string {
  const verdict = skipped !== undefined ? 'skipped' : ok ? 'ok' : 'FAILED';
  const remark = skipped ?? (step === undefined || !ok ? '' : diagnostics.join(' '));
  const name = `${'  '.repeat(path.length - 1)}${path.at(-1)}${parent ? ' (all of it)' : ''}`;
  return `${seconds.toFixed(1).padStart(6)} s  ${verdict.padEnd(8)}${`${name}  ${remark}`.trimEnd()}`;
}

/** All failures of a job, and its sum. */
export function describeJob(report: JobReport): string {
  const shown = new Set<string>();
  const failures = findFailures(report).flatMap(({ title, details, kernelLog, adapter }) => [
    ...failureHead(title),
    ...details.map((line) => `${INDENT}${line}`),
    ...describeBlock('kernel log around it', kernelLog, shown),
    ...describeBlock(ADAPTER_TITLE, adapter, shown),
  ]);
  return [...failures, '', sumLine(report), ''].join('\n');
}

/** The state of the adapter at each failure, by its title, for `vuhca run --case`. */
export function describeStates(states: ReadonlyMap<string, readonly string[]>): string {
  const shown = new Set<string>();
  const lines = [...states].flatMap(([title, adapter]) => [
    ...failureHead(title),
    ...describeBlock(ADAPTER_TITLE, adapter, shown),
  ]);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

function failureHead(title: string): string[] {
  return ['', `FAILED    ${title}`];
}

/** The lines that were not shown before: consecutive failures share an excerpt. */
function describeBlock(title: string, lines: readonly string[], shown: Set<string>): string[] {
  if (lines.length === 0) return [];
  const news = lines.filter((line) => !shown.has(line));
  for (const line of news) shown.add(line);
  if (news.length === 0) return [`${INDENT}${title}: as above`];
  return [`${INDENT}${title}:`, ...news.map((line) => `${INDENT}  ${line}`)];
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
  const again = statusOf(report) === 0 || report.again === undefined ? '' : `\nagain: ${report.again}`;
  const verdict = statusOf(report) === 0 ? 'passed' : 'FAILED';
  return `${verdict}: ${report.name}: ${parts.join(', ')}, ${report.run.seconds.toFixed(1)} s${kept}${again}`;
}
