// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `vuhca test` for other programs: TAP (version 14) and JUnit XML. Pure: reports in,
 * text out.
 */
import reporter, { type Builder } from 'junit-report-builder';
import { type Failure, findFailures, type JobReport, leaves } from './test-report.ts';

/** A line for each result, and one for each fault, with its details as diagnostics. */
export function toTap(reports: readonly JobReport[]): string {
  const lines: string[] = [];
  let number = 0;
  for (const report of reports) {
    const prefix = reports.length > 1 ? `${report.name}: ` : '';
    for (const { path, skipped } of leaves(report).filter(({ ok }) => ok)) {
      const directive = skipped === undefined ? '' : ` # SKIP ${skipped}`;
      lines.push(`ok ${++number} - ${escapeTap(prefix + path.join('/'))}${directive}`);
    }
    for (const failure of findFailures(report))
      lines.push(
        `not ok ${++number} - ${escapeTap(prefix + failure.title)}`,
        ...describe(failure).map((line) => `# ${line}`),
      );
  }
  return `${['TAP version 14', ...lines, `1..${number}`].join('\n')}\n`;
}

/**
 * A suite for each job, a case for each result and each fault. The package's types name a
 * member that its module does not have.
 */
export function toJunit(reports: readonly JobReport[]): string {
  const builder = (reporter as unknown as Builder).newBuilder();
  for (const report of reports) {
    const suite = builder.testSuite().name(report.name).time(report.run.seconds);
    for (const { path, skipped } of leaves(report).filter(({ ok }) => ok)) {
      const test = suite
        .testCase()
        .className(classOf(report, path))
        .name(path.at(-1) ?? '');
      if (skipped !== undefined) test.skipped().standardOutput(skipped);
    }
    for (const failure of findFailures(report)) {
      const path = failure.title.split('/');
      const test = suite
        .testCase()
        .className(classOf(report, path))
        .name(path.at(-1) ?? '');
      test.failure(printable(describe(failure).join('\n') || failure.title));
    }
  }
  return builder.build();
}

function classOf({ name }: JobReport, path: readonly string[]): string {
  return [name, ...path.slice(0, -1)].join('.');
}

function describe({ details, kernelLog, adapter }: Failure): string[] {
  return [
    ...details,
    ...(kernelLog.length === 0 ? [] : ['kernel log around it:', ...kernelLog]),
    ...(adapter.length === 0 ? [] : ['adapter at that time:', ...adapter]),
  ];
}

/** XML has no control characters. */
function printable(text: string): string {
  return text.replaceAll(/[^\t\n\u0020-\ud7ff\ue000-\ufffd]/g, '?');
}

function escapeTap(text: string): string {
  return text.replaceAll(/[\\#]/g, (character) => `\\${character}`);
}
