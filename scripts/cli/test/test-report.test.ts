// SPDX-License-Identifier: Apache-2.0
/**
 * Reports of `vuhca test` about results and faults: exit status, screen, TAP and JUnit. Other
 * readers (tap-parser, tap) accept the output.
 */

import t from 'tap';
import { type FinalResults, Parser } from 'tap-parser';
import type { FaultKind, GuestFault, StepKind, TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { TestStatus } from '../session/exit-statuses.ts';
import { toJunit, toTap } from './test-files.ts';
import { countResults, findFailures, type JobReport, statusOf, worstStatus } from './test-report.ts';
import { describeJob, describeStates, resultLine } from './test-screen.ts';

const LOG = Array.from({ length: 60 }, (_, number) => `[    1.${String(number).padStart(6, '0')}] line ${number}`);

function result(name: string, ok = true, more: Partial<TestResult> = {}): TestResult {
  return { path: name.split('/'), ok, diagnostics: [], parent: false, seconds: 2.5, logLines: 30, ...more };
}

function step(kind: StepKind, name: string, ok = true): TestResult {
  return result(`${kind} ${name}`, ok, { step: kind, diagnostics: ok ? [] : ['Invalid parameters'] });
}

function fault(kind: FaultKind, text: string): GuestFault {
  return { kind, text, logLines: 40 };
}

function job(results: readonly TestResult[], faults: readonly GuestFault[] = [], adapter = new Map()): JobReport {
  return {
    name: 'mydriver',
    adapter,
    run: {
      results,
      faults,
      seconds: 7,
      kernelLog: () => LOG,
      logBetween: (from, to) => LOG.slice(Math.max(0, from), to),
    },
  };
}

t.test('the exit status', async (t) => {
  const good = [step('load', 'my'), step('bind', 'my'), result('a')];
  const cases: readonly (readonly [string, JobReport, TestStatus])[] = [
    ['all passed', job(good), TestStatus.PASSED],
    ['skipped', job([...good, result('b', true, { skipped: 'no reason' })]), TestStatus.PASSED],
    ['one failed', job([...good, result('b', false)]), TestStatus.FAILED],
    ['a script failed', job([...good, step('script', 'test.sh', false)]), TestStatus.FAILED],
    ['a store that came too late', job(good, [fault('order', 'late')]), TestStatus.FAILED],
    ['broken KTAP', job(good, [fault('results', 'no plan')]), TestStatus.FAILED],
    ['not loaded', job([step('load', 'my', false)]), TestStatus.NOT_LOADED],
    ['not bound', job([step('load', 'my'), step('bind', 'my', false)]), TestStatus.NOT_LOADED],
    ['a warning', job(good, [fault('kernel', 'WARNING: ...')]), TestStatus.KERNEL_COMPLAINED],
    ['a panic', job(good, [fault('kernel', 'panic'), fault('guest', 'ended')]), TestStatus.KERNEL_COMPLAINED],
    ['a hang', job(good, [fault('silence', 'silent'), fault('guest', 'ended')]), TestStatus.SILENT],
    ['ended early', job(good, [fault('guest', 'ended')]), TestStatus.SILENT],
    ['an adapter that died', job(good, [fault('adapter', 'died')]), TestStatus.ADAPTER_FAILED],
  ];
  for (const [name, report, status] of cases) t.equal(statusOf(report), status, name);
  t.equal(worstStatus([0, 5, 1]), 5);
  t.equal(worstStatus([0, 0]), 0);
});

t.test('what only sums up subtests is not counted', async (t) => {
  const report = job([result('s/a'), result('s/b', false), result('s', false, { parent: true })]);
  t.same(countResults(report), { passed: 1, failed: 1, skipped: 0 });
  t.same(
    findFailures(report).map(({ title }) => title),
    ['s/b'],
  );
});

t.test('a failure shows the log and the adapter around it', async (t) => {
  const bad = result('s/b', false, { diagnostics: ['expected 1, got 0'] });
  const warning = fault('kernel', 'WARNING: CPU: 0 PID: 1 at x.c:1');
  const report = job([bad], [warning, fault('kernel', 'Call Trace:')], new Map([[bad, ['function 0: faults none']]]));
  const text = describeJob(report);
  t.match(text, /FAILED {4}s\/b\n +expected 1, got 0\n +kernel log around it:\n.*line 18\n/);
  t.match(text, /line 41\n +adapter at that time:\n +function 0: faults none\n/);
  t.match(text, /FAILED {4}WARNING: CPU: 0 PID: 1 at x\.c:1\n +Call Trace:\n/, 'complaints are one failure');
  t.match(text, /\nFAILED: mydriver: 0 passed, 1 failed, 2 faults, 7\.0 s\n$/);
  t.match(resultLine(result('s/b', true, { skipped: 'later' })), / 2\.5 s {2}skipped {3}b {2}later$/);
});

t.test('a run that failed says how to repeat it, one that passed does not', async (t) => {
  const again = 'vuhca test my --ordering=adversarial:3';
  t.match(
    describeJob({ ...job([result('a', false)]), again }),
    /^FAILED: .*\nagain: vuhca test my --ordering=adversarial:3$/m,
  );
  t.notMatch(describeJob({ ...job([result('a')]), again }), /again/);
});

t.test('the same excerpt is shown once', async (t) => {
  const adapter = ['function 0: faults none'];
  const [first, second] = [result('s/a', false), result('s/b', false)];
  const state = new Map<TestResult | GuestFault, readonly string[]>([
    [first, adapter],
    [second, adapter],
  ]);
  const text = describeJob(job([first, second], [fault('kernel', 'WARNING: x')], state));
  for (const line of [...LOG.slice(18, 52), 'faults none']) t.equal(text.split(line).length, 2, line);
  t.match(text, /s\/b\n +kernel log around it: as above\n +adapter at that time: as above\n/);
});

t.test('a complaint is shown with all of its call trace', async (t) => {
  const trace = Array.from({ length: 40 }, (_, index) => `[    2.0]  call_${index}+0x1/0x2`);
  const log = [...LOG.slice(0, 40), 'WARNING: x', ...trace, '---[ end trace 0 ]---', ...LOG.slice(40)];
  const report = job([], [fault('kernel', 'WARNING: x')]);
  const run = { ...report.run, logBetween: (from: number, to: number) => log.slice(from, to) };
  const text = describeJob({ ...report, run });
  for (const line of trace) t.match(text, line);
  t.notMatch(text, LOG[41]);
});

const MIXED = job(
  [result('s/a'), result('s/b # 1', false, { diagnostics: ['a\u0007b <&>'] }), result('s/c', true, { skipped: 'why' })],
  [fault('silence', 'the guest was silent')],
);

t.test('TAP that other readers take', async (t) => {
  const { ok, pass, fail, skip, failures } = await new Promise<FinalResults>((resolve) => {
    new Parser({}, resolve).end(toTap([MIXED, MIXED]));
  });
  t.match({ ok, pass, fail, skip }, { ok: false, pass: 4, fail: 4, skip: 2 });
  t.match(failures[0], { name: 'mydriver: s/b # 1' });
});

t.test('JUnit XML', async (t) => {
  const xml = toJunit([MIXED]);
  t.match(xml, /<testsuite name="mydriver" .*tests="4" failures="2" .*skipped="1"/);
  t.match(xml, /<testcase classname="mydriver\.s" name="a"/);
  t.match(xml, /a\\x07b &lt;&amp;/);
});

t.test('a test has the same name whether it passes, fails or is skipped', async (t) => {
  const paths = [
    ['a/b'],
    ['s', 'x/y.sh'],
    ['net: x/y.sh', 'a.b'],
    ['with # and \\'],
    ['s', 'a\u0001b'],
    ['script t/run.sh'],
  ];
  for (const path of paths) {
    const ends: readonly Partial<TestResult>[] = [{}, { ok: false }, { skipped: 'later' }];
    const jobs = ends.map((end) => job([result('x', true, { ...end, path })]));
    const cases = jobs.map((one) => /<testcase [^>]*?(?=\/?>)/.exec(toJunit([one]))?.[0]);
    t.same(cases, [cases[0], cases[0], cases[0]], path.join('/'));
    const names = jobs.map((one) => /^(?:not )?ok 1 - (.*?)(?: # SKIP later)?$/m.exec(toTap([one]))?.[1]);
    t.same(names, [names[0], names[0], names[0]], path.join('/'));
  }
});

t.test('results keep their order in TAP', async (t) => {
  const text = toTap([job([result('a', false), result('b'), result('c', false)], [fault('kernel', 'WARNING')])]);
  t.same(text.match(/ - .*/g), [' - a', ' - b', ' - c', ' - WARNING']);
});

t.test('what the adapter said at each failure of a case, once', async (t) => {
  const states = new Map([
    ['one', ['function 0: faults none', 'QP 2 of a: send WQE 0 ended with FLUSHED']],
    ['two', ['function 0: faults none']],
    ['silent', []],
  ]);
  t.equal(
    describeStates(states),
    `
FAILED    one
          adapter at that time:
            function 0: faults none
            QP 2 of a: send WQE 0 ended with FLUSHED

FAILED    two
          adapter at that time: as above

FAILED    silent

`,
  );
  t.equal(describeStates(new Map()), '');
});
