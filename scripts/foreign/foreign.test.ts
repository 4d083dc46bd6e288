// SPDX-License-Identifier: Apache-2.0
/** Handling of the results of foreign suites, and of a suite that does not end. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { LineSplitter } from '../../qemu/line-splitter.ts';
import { describeResults } from './document.ts';
import { FigureReader, readFigures } from './figures.ts';
import { planSwitch } from './peer-adapters.ts';
import { filesWithoutPasses, mergeResults, readResults } from './results.ts';
import { runAll } from './run-all.ts';
import { type ForeignOptions, type ForeignRun, listAdapters } from './run-suites.ts';
import { judgeSession, suiteFiles } from './suite-guest.ts';
import { ADAPTERS, type AdapterName, type ForeignResult, readNames } from './suites.ts';

t.test('results become a document, and a run replaces its own suites only', async (t) => {
  const result = (suite: string, name: string, verdict: ForeignResult['verdict'], reason?: string): ForeignResult => {
    return { suite, name, verdict, diagnostics: [], ...(reason === undefined ? {} : { reason }) };
  };
  const first = mergeResults({}, 'rxe', [result('verbs', 'rc', 'pass'), result('cm', 'rping', 'fail')]);
  const second = mergeResults(first, 'rxe', [result('cm', 'rping', 'pass')]);
  const third = mergeResults(second, 'mthca', [
    result('verbs', 'rc', 'skip', 'a | b'),
    result('pyverbs', 'cq.one', 'pass'),
    result('pyverbs', 'cq.two', 'fail'),
  ]);
  const lines = describeResults(third).split('\n');
  t.ok(lines.includes('| Examples of libibverbs | 0, 1, 0 | 1, 0, 0 |'));
  t.ok(lines.includes('| rc | skip: a \\| b | ok |'));
  t.ok(lines.includes('| rping |  | ok |'), 'the failure was replaced');
  t.ok(lines.includes('| cq | 1, 0, 1 |  |'), 'tests of pyverbs are counted by file');
  t.ok(lines.includes('| cq.two | FAIL |  |'));
  t.notOk(lines.some((line) => line.startsWith('| cq.one')));
});

t.test('the page says what is kept', async (t) => {
  const page = readFileSync(new URL('../../docs/verbs/FOREIGN.md', import.meta.url), 'utf8');
  t.ok(page === describeResults(readResults(), readFigures()), 'npm run test:foreign -- --write');
});

t.test('a question of several lines reaches the other guest through the host', async (t) => {
  const file = join(t.testdir(), 'port');
  const asker = fileURLToPath(new URL('../../guest-tests/foreign/ask-far.sh', import.meta.url));
  const { status } = spawnSync('sh', ['-c', 'exec sh "$@" 5<>"$0"', file, asker, 'run', 'echo one &&\n  echo two']);
  t.equal(status, 125, 'nobody answers');
  const lines: string[] = [];
  new LineSplitter((line) => lines.push(line)).push(readFileSync(file));
  t.equal(lines.length, 1);
  const [verb, tag, ...words] = lines[0].split(' ');
  t.same([verb, Number(tag) > 0], ['run', true]);
  t.equal(words.join(' ').replaceAll('\t', '\n'), 'echo one &&\n  echo two');
});

t.test("a complaint of the guest's kernel is told with the log around it", async (t) => {
  const log = ['boot', 'workqueue: a is flushing b', 'WARNING: at c', 'Call Trace:', ' d+0x1/0x2'];
  const fault = { kind: 'kernel', text: `complained: ${log[2]}`, logLines: 2 } as const;
  const later = { ...fault, text: 'complained: Call Trace:', logLines: 3 };
  const logBetween = (from: number, to: number) => log.slice(Math.max(0, from), to);
  t.same(judgeSession({ faults: [fault, later], results: [], logBetween }, ['mlx5']).faults, [
    ['kernel: complained: WARNING: at c', ...log].join('\n'),
    'kernel: complained: Call Trace:',
  ]);
});

t.test("a rule of the kernel's work queues counts where our driver is loaded", async (t) => {
  const text =
    'complained (warning): WARNING: CPU: 0 PID: 30 at kernel/workqueue.c:3767 check_flush_dependency.part.0+0xc9';
  const other = { kind: 'kernel', text: 'complained (warning): WARNING: elsewhere', logLines: 1 } as const;
  const session = { faults: [{ ...other, text }, other], results: [], logBetween: () => ['log'] };
  const ofOthers = `kernel: ${text}\nlog`;
  t.same(judgeSession(session, ['mlx5']).othersFaults, [ofOthers]);
  t.same(judgeSession(session, ['mlx5']).faults, [`kernel: ${other.text}\nlog`]);
  t.same(judgeSession(session, ['vuhca']).othersFaults, []);
  t.same(judgeSession(session, ['vuhca']).faults, [ofOthers, `kernel: ${other.text}`]);
});

t.test('files of pyverbs without a pass are found', async (t) => {
  const texts = { 'cq.one': 'skip: no', 'cq.two': 'ok', 'odp.one': 'skip: no', 'qp.one': 'ok', 'dr.one': 'driver: no' };
  const kept = { mlx5: { pyverbs: texts, cm: { 'rping.one': 'skip: no' } } };
  t.same(filesWithoutPasses(kept, 'mlx5'), ['odp', 'dr']);
  t.same(filesWithoutPasses(kept, 'vuhca'), []);
});

t.test('a failure by the driver keeps its reason', async (t) => {
  const result = {
    suite: 'pyverbs',
    name: 'cq.one',
    verdict: 'skip',
    diagnostics: [],
    reason: 'driver: wrong',
  } as const;
  t.equal(mergeResults({}, 'mthca', [result]).mthca?.pyverbs?.['cq.one'], 'driver: wrong');
});

t.test('figures are ratios of medians to those of soft-RoCE, and more is better', async (t) => {
  const reader = new FigureReader();
  const values = {
    'latency-64 mthca': [30, 10, 20],
    'latency-64 rxe': [60, 50, 900],
    'rate-64 mthca': [8],
    'bandwidth-65536 mthca': [8],
    'bandwidth-65536 rxe': [0],
  };
  for (const [name, list] of Object.entries(values))
    for (const value of list) reader.push(`  # figure ${name} ${value}`);
  reader.push('  # figure of speech');
  reader.push('  # figure latency-64 vuhca-single 6');
  reader.push('  # figure latency-64 rxe-single 6000');
  t.same(reader.ratios('vuhca-single'), { 'latency-64': 10 }, 'soft-RoCE where it is faster');
  t.same(reader.ratios('mthca'), { 'latency-64': 3 }, 'without a value to compare with there is none');
  const lines = describeResults({}, { mthca: reader.ratios('mthca') }).split('\n');
  t.ok(lines.includes('| latency of `ib_send_lat`, 64 bytes | 3 | 5 |'));
});

t.test('a folder among the scripts of suites is no script', async (t) => {
  const folder = t.testdir({ 'run.sh': '#!/bin/sh\n', 'habits.py': '', __pycache__: { 'habits.pyc': '' } });
  t.same(
    suiteFiles(folder).map(({ path }) => path),
    ['/foreign/habits.py', '/foreign/run.sh'],
  );
});

t.test('a guest alone has two ports, whatever its adapters are', async (t) => {
  const portsOf = (...adapters: readonly AdapterName[]) => {
    const { links } = planSwitch(listAdapters({ adapters })) as { links: { ports: string[] }[] };
    return links.map(({ ports: [port] }) => port);
  };
  t.same(portsOf('mthca', 'rxe'), ['first-mthca:1', 'first-mthca:2']);
  t.same(portsOf('mlx5'), ['first-mlx5:1', 'second-mlx5:1']);
  t.same(portsOf('mlx5', 'vuhca'), ['first-mlx5:1', 'first-vuhca:1', 'first-vuhca:2', 'second-mlx5:1']);
  t.same(portsOf('rxe'), []);
  t.same(listAdapters({ adapters: ['vuhca'], hasTwoAdapters: true }), [
    { side: 'first', personality: 'vuhca' },
    { side: 'second', personality: 'vuhca' },
  ]);
});

t.test('names of an option are those that there are', async (t) => {
  t.same(readNames('--adapter', 'rxe,mlx5', ADAPTERS), ['rxe', 'mlx5']);
  t.throws(() => readNames('--adapter', 'mlx5,mlx4', ADAPTERS), {
    name: 'SetupError',
    message: '--adapter names mlx4; there are mlx5, mthca, rxe, vuhca',
  });
});

t.test('a suite that does not end costs only itself', async (t) => {
  const begun: string[] = [];
  const run = async ({ suites }: ForeignOptions): Promise<ForeignRun> => {
    begun.push(suites.join());
    const ended = suites.slice(0, suites.indexOf('cm') < 0 ? suites.length : suites.indexOf('cm'));
    return {
      results: [],
      faults: ended.length < suites.length ? ['the guest died'] : [],
      othersFaults: [],
      ended,
      seconds: 1,
    };
  };
  const runners = { guest: run, 'guest on one thread': run, 'guest with two adapters': run, 'two guests': run };
  const suites = ['verbs', 'cm', 'ipoib', 'peers'] as const;
  const { faults, ended, seconds } = await runAll({ adapters: ['mthca'], suites }, runners);
  t.same(begun, ['verbs,cm,ipoib', 'ipoib', 'peers']);
  t.same(ended, ['verbs', 'ipoib', 'peers']);
  t.same(faults, ['the guest died']);
  t.equal(seconds, 3);
});

t.test('suites of one guest share that of two adapters, if there is one', async (t) => {
  const begun: string[][] = [];
  const runIn =
    (place: string) =>
    async ({ suites }: ForeignOptions): Promise<ForeignRun> => {
      begun.push([place, ...suites]);
      return { results: [], faults: [], othersFaults: [], ended: suites, seconds: 1 };
    };
  const runners = {
    guest: runIn('guest'),
    'guest on one thread': runIn('one thread'),
    'guest with two adapters': runIn('two adapters'),
    'two guests': runIn('two guests'),
  };
  const options = { adapters: ['mlx5'], sharesGuest: true } as const;
  await runAll({ ...options, suites: ['verbs', 'adapters', 'peers'] }, runners);
  t.same(begun.splice(0), [
    ['two adapters', 'verbs', 'adapters'],
    ['two guests', 'peers'],
  ]);
  await runAll({ ...options, suites: ['verbs', 'peers'] }, runners);
  t.same(begun.splice(0), [
    ['guest', 'verbs'],
    ['two guests', 'peers'],
  ]);
  await runAll({ ...options, sharesGuest: false, suites: ['verbs', 'adapters'] }, runners);
  t.same(begun.splice(0), [
    ['guest', 'verbs'],
    ['two adapters', 'adapters'],
  ]);
  await runAll({ ...options, suites: ['figures', 'turns', 'adapters'] }, runners);
  t.same(begun, [
    ['one thread', 'turns'],
    ['two adapters', 'figures', 'adapters'],
  ]);
});
