// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `vuhca test` for other programs: TAP (version 14) and JUnit XML. Pure: reports in,
 * text out.
 */
import type { TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { printable } from '../../../protocol/system/printable.mjs';
import { toJunitXml } from '../../console/junit.ts';
import { type Failure, findFailures, type JobReport, leaves, nameOf } from './test-report.ts';

/** A line for each result, and one for each fault, with its details as diagnostics. */
export function toTap(reports: readonly JobReport[]): string {
  const lines: string[] = [];
  let number = 0;
  for (const report of reports) {
    const prefix = reports.length > 1 ? `${report.name}: ` : '';
    for (const { name, result, failure } of entriesOf(report)) {
      const directive = result?.skipped === undefined ? '' : ` # SKIP ${printable(result.skipped)}`;
      lines.push(`${failure === undefined ? 'ok' : 'not ok'} ${++number} - ${escapeTap(prefix + name)}${directive}`);
      if (failure !== undefined) lines.push(...describe(failure).map((line) => `# ${line}`));
    }
  }
  return `${['TAP version 14', ...lines, `1..${number}`].join('\n')}\n`;
}

/** A suite for each job, a case for each result and each fault. */
export function toJunit(reports: readonly JobReport[]): string {
  return toJunitXml(
    reports.map((report) => ({
      name: report.name,
      seconds: report.run.seconds,
      cases: entriesOf(report).map(({ name, result, failure }) => {
        const path = result?.path ?? [name];
        return {
          className: [report.name, ...path.slice(0, -1)].join('.'),
          name: path.at(-1) as string,
          failure: failure && (describe(failure).join('\n') || printable(failure.title)),
          skipped: result?.skipped,
        };
      }),
    })),
  );
}

/** A test or a fault. Its name does not depend on its result. */
interface Entry {
  readonly name: string;
  readonly result?: TestResult;
  readonly failure?: Failure | undefined;
}

/** The results in their order, then the faults. */
function entriesOf(report: JobReport): Entry[] {
  const failures = findFailures(report);
  return [
    ...leaves(report).map((result) => ({
      name: nameOf(result),
      result,
      failure: failures.find((failure) => failure.result === result),
    })),
    ...failures.filter(({ result }) => result === undefined).map((failure) => ({ name: failure.title, failure })),
  ];
}

/** Lines without characters that XML does not allow or that control a terminal. */
function describe({ details, kernelLog, adapter }: Failure): string[] {
  const texts = [
    ...details,
    ...(kernelLog.length === 0 ? [] : ['kernel log around it:', ...kernelLog]),
    ...(adapter.length === 0 ? [] : ['adapter at that time:', ...adapter]),
  ];
  return texts.flatMap((text) => text.split('\n')).map(printable);
}

function escapeTap(text: string): string {
  return printable(text).replaceAll(/[\\#]/g, (character) => `\\${character}`);
}
