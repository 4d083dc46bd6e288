// SPDX-License-Identifier: Apache-2.0
/**
 * KTAP and TAP streams: nested results, directives, and the faults of streams that stop or break
 * their plan.
 */
import t from 'tap';
import { KtapParser, type KtapResult, parseKtap } from './ktap.ts';

const NESTED = `
KTAP version 1
1..3
  KTAP version 1
  # Subtest: first
  1..2
  # duration_ms 12
  ok 1 one
  # two.c:5: it is 3, not 4
  not ok 2 two
not ok 1 first
  KTAP version 1
  # Subtest: second
  1..1
  ok 1 three # SKIP no such thing here
ok 2 second
ok 3 plain
`;

t.test('nested subtests', (t) => {
  const { results, faults } = parseKtap(NESTED);
  t.same(faults, []);
  const brief = results.map(({ path, ok, skipped }) => [path.join('/'), ok, skipped]);
  t.same(brief, [
    ['first/one', true, undefined],
    ['first/two', false, undefined],
    ['first', false, undefined],
    ['second/three', true, 'no such thing here'],
    ['second', true, undefined],
    ['plain', true, undefined],
  ]);
  t.equal(results[0]?.durationMs, 12);
  t.same(results[1]?.diagnostics, ['two.c:5: it is 3, not 4']);
  t.same(
    results.map(({ parent }) => parent),
    [false, false, true, false, true, false],
  );
  t.end();
});

t.test('results are reported as they arrive, with the names known by then', (t) => {
  const seen: KtapResult[] = [];
  const parser = new KtapParser((result) => seen.push(result));
  for (const line of NESTED.split('\n').slice(0, 8)) parser.push(line);
  t.same(
    seen.map(({ path }) => path),
    [['first', 'one']],
  );
  t.end();
});

t.test('a stream that stops has a fault', (t) => {
  const lines = NESTED.trim().split('\n');
  for (let length = 2; length < lines.length; length++) {
    const { faults } = parseKtap(lines.slice(0, length).join('\n'));
    t.not(faults.length, 0, `after "${lines[length - 1]}"`);
  }
  t.same(parseKtap(lines.join('\n')).faults, []);
  t.end();
});

t.test('the results before the stop of a stream are kept', (t) => {
  const { results, faults } = parseKtap('KTAP version 1\n1..1\n  KTAP version 1\n  # Subtest: a\n  1..2\n  ok 1 b\n');
  t.same(
    results.map(({ path }) => path),
    [['a', 'b']],
  );
  t.same(faults, ['a: 2 planned, 1 seen', 'a: no result line', 'top level: 1 planned, 0 seen']);
  t.end();
});

t.test('TAP 13 and 14', (t) => {
  const old = parseKtap('TAP version 13\n1..3\nok 1 - a\nok 2 - b # skip later\nnot ok 3 - c # TODO some day\n');
  t.same(old.faults, []);
  t.same(
    old.results.map(({ path, ok, skipped }) => [path[0], ok, skipped]),
    [
      ['a', true, undefined],
      ['b', true, 'later'],
      ['c', true, 'some day'],
    ],
  );
  const nested = parseKtap('TAP version 14\n# Subtest: a\n    ok 1 - b\n    1..1\nok 1 - a\n1..1\n');
  t.same(nested.faults, []);
  t.same(
    nested.results.map(({ path }) => path.join('/')),
    ['a/b', 'a'],
  );
  t.end();
});

t.test('faults of the stream', (t) => {
  t.same(parseKtap('').faults, ['no plan']);
  t.match(parseKtap('1..2\nok 1 a\nok 3 b\n').faults, ['top level: result 3 where 2 was due']);
  t.match(parseKtap('1..1\nok 1 a\nok 2 b\n').faults, ['top level: 1 planned, 2 seen']);
  t.match(parseKtap('1..1\nBail out! no device\n').faults, [/Bail out! no device/, /1 planned, 0 seen/]);
  t.end();
});

t.test('only a directive excuses a failure', (t) => {
  const excused = ['a # SKIP', 'a # XFAIL known', '# TODO', 'a\\\\ # skip x', 'a # SKIPPED: x'];
  const failed = ['queue#skip', 'a \\# TODO x', 'a # TIMEOUT 45 s', 'a # exit=1', 'a #12 # SKIP', 'skip', ''];
  for (const description of [...excused, ...failed]) {
    const { results } = parseKtap(`KTAP version 1\n1..1\nnot ok 1 ${description}\n`);
    t.equal(results[0]?.ok, excused.includes(description), description);
  }
  t.same(
    parseKtap('1..2\nok 1 - a \\# b\\\\c\nok 2\n').results.map(({ path }) => path[0]),
    ['a # b\\c', 'test 2'],
  );
  t.end();
});

t.test('a suite that fails though its tests pass is a failure of its own', (t) => {
  const read = (inner: string, outer: string) =>
    parseKtap(
      `KTAP version 1\n1..1\n  KTAP version 1\n  # Subtest: s\n  1..1\n  ${inner} 1 a\n${outer} 1 s\n`,
    ).results.filter(({ parent, ok }) => !parent && !ok);
  t.equal(read('ok', 'ok').length, 0);
  t.same(
    read('not ok', 'not ok').map(({ path }) => path.join('/')),
    ['s/a'],
  );
  t.same(
    read('ok', 'not ok').map(({ path }) => path.join('/')),
    ['s'],
  );
  t.end();
});

t.test('a plan that skips everything', (t) => {
  const whole = parseKtap('TAP version 13\n1..0 # SKIP no such device\n');
  t.same(whole.faults, []);
  t.match(whole.results, [{ path: ['every test'], ok: true, skipped: 'no such device' }]);
  const inner = parseKtap('TAP version 14\n1..1\n# Subtest: s\n    1..0 # skip later\nok 1 - s\n');
  t.same(inner.faults, []);
  t.match(inner.results, [{ path: ['s'], ok: true, skipped: 'later', parent: false }]);
  t.equal(parseKtap('1..0\n').results.length, 0);
  t.end();
});

t.test('a YAML block belongs to the result before it', (t) => {
  const { results, faults } = parseKtap(
    'TAP version 14\n1..2\n# before\nnot ok 1 - a\n  ---\n  found: 3\n  log: |\n    not ok 2 - b\n  ...\nok 2 - b\n  ---\n  open: 1\n',
  );
  t.same(faults, []);
  t.same(
    results.map(({ path, diagnostics }) => [path[0], ...diagnostics]),
    [
      ['a', 'before', 'found: 3', 'log: |', '  not ok 2 - b'],
      ['b', 'open: 1'],
    ],
  );
  t.match(parseKtap('1..2\nok 1\n  ---\n  x: 1\nok 2\n'), { faults: [], results: [{}, {}] }, 'a block without end');
  t.match(parseKtap('1..1\n---\nok 1\n'), { faults: [], results: [{ diagnostics: [] }] }, 'not behind a result');
  t.end();
});

t.test('lines that are not TAP are ignored', (t) => {
  const { results, faults } = parseKtap('@vuhca init 3.2\nKTAP version 1\n1..1\nsome noise\nok 1 a\n@vuhca exit 0\n');
  t.same(faults, []);
  t.equal(results.length, 1);
  t.end();
});
