// SPDX-License-Identifier: Apache-2.0
/**
 * Reports a run of in-kernel tests as subtests, one for each kernel test. A failure shows the
 * diagnostics of the test and the end of its kernel log. Called by the tests with guests.
 */
import type { Test } from 'tap';
import type { GuestRun } from './guest-run.ts';
import type { TestResult } from './guest-session.ts';

/** Lines of kernel log shown with a failure. */
const LOG_TAIL = 40;
/** Lines before a complaint. */
const LOG_BEFORE = 10;

/** The message of qemu/bind-again.sh: the driver was bound again, because the machine is busy. */
const BOUND_AGAIN = /^(?:(?!vuhca: ib_mthca ).)*vuhca: (ib_mthca .* bound again)/m;

/**
 * A subtest for each suite, within it one for each case, and an assertion for the run itself. With
 * `checks` the script must have printed that many results.
 */
export function report(t: Test, run: GuestRun, checks?: number): void {
  const suites = new Map<string, TestResult[]>();
  for (const result of run.results) {
    const [suite = ''] = result.path;
    const cases = suites.get(suite) ?? [];
    if (!result.parent) cases.push(result);
    suites.set(suite, cases);
  }
  for (const [suite, cases] of suites) {
    t.test(suite, (t) => {
      for (const result of cases) reportCase(t, run, suite, result);
      t.end();
    });
  }
  for (const line of run.kernelLog()) {
    const [, word] = BOUND_AGAIN.exec(line) ?? [];
    if (word !== undefined) t.comment(word);
  }
  const faults = run.faults.map(({ text }) => text);
  t.same(faults, [], 'the run itself', { log: faults.length > 0 ? selectLog(run.kernelLog(), faults) : [] });
  if (checks === undefined) return;
  const printed = run.results.filter(({ step, parent }) => step === undefined && !parent);
  t.equal(printed.length, checks, 'all checks did run');
}

/** Expects that each of `names`, a suite and its case, has run in a guest and was not skipped. */
export function hasPassed(t: Test, { results }: GuestRun, names: readonly string[]): void {
  const passed = results.filter(({ ok, skipped }) => ok && skipped === undefined).map(({ path }) => path.join('/'));
  for (const name of names) t.ok(passed.includes(name), `${name} has run`);
}

/** The log of the kernel from its first complaint on, or its end. */
function selectLog(log: readonly string[], faults: readonly string[]): readonly string[] {
  const at = log.findIndex((line) => faults.some((text) => text.endsWith(line)));
  return at < 0 ? log.slice(-LOG_TAIL) : log.slice(Math.max(0, at - LOG_BEFORE), at + LOG_TAIL);
}

function reportCase(t: Test, run: GuestRun, suite: string, result: TestResult): void {
  const name = result.path.slice(1).join('/') || suite;
  if (result.skipped !== undefined) t.pass(name, { skip: result.skipped });
  else if (result.ok) t.pass(name);
  else t.fail(name, { diagnostics: result.diagnostics, kernelLog: run.kernelLog(suite, name).slice(-LOG_TAIL) });
}
