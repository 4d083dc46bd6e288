// SPDX-License-Identifier: Apache-2.0
/**
 * Results of tests as JUnit XML, without characters that XML does not allow or that control a
 * terminal. Pure. Called by `vuhca test` and `vuhca cluster test`.
 */
import reporter, { type Builder } from 'junit-report-builder';
import { printable, printableLines } from '../../protocol/system/printable.mjs';

/** The result of one test. */
export interface JunitCase {
  readonly className: string;
  readonly name: string;
  /** Reason of a failure, in lines; absent when it passed. */
  readonly failure?: string | undefined;
  /** Reason why it did not run. */
  readonly skipped?: string | undefined;
}

export interface JunitSuite {
  readonly name: string;
  readonly seconds?: number;
  readonly cases: readonly JunitCase[];
}

/** The text of the file. The package's types name a member that its module does not have. */
export function toJunitXml(suites: readonly JunitSuite[]): string {
  const builder = (reporter as unknown as Builder).newBuilder();
  for (const { name, seconds, cases } of suites) {
    const suite = builder.testSuite().name(printable(name));
    if (seconds !== undefined) suite.time(seconds);
    for (const { className, name, failure, skipped } of cases) {
      const test = suite.testCase().className(printable(className)).name(printable(name));
      if (skipped !== undefined) test.skipped().standardOutput(printable(skipped));
      if (failure !== undefined) test.failure(printableLines(failure));
    }
  }
  return builder.build();
}
