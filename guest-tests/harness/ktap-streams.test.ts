// SPDX-License-Identifier: Apache-2.0
/** KTAP in the kernel's log and in the output of scripts. */
import t from 'tap';
import { KtapStreams } from './ktap-streams.ts';

function read(lines: readonly string[], plansBegin = false) {
  const results: string[] = [];
  const streams = new KtapStreams(({ path, ok }) => results.push(`${ok ? '' : 'not '}${path.join('/')}`), {
    plansBegin,
  });
  for (const line of lines) streams.push(line);
  streams.finish();
  return { results, faults: streams.faults, count: streams.count };
}

const KUNIT = [
  'KTAP version 1',
  '1..1',
  '    KTAP version 1',
  '    # Subtest: ring',
  '    1..2',
  'a line of another module',
  '    ok 1 wraps',
  '    # overflows: EXPECTATION FAILED at ring_test.c:12',
  '    not ok 2 overflows',
  'not ok 1 ring',
];

t.test("a module's document in the log, with and without a prefix", async (t) => {
  for (const prefix of ['', 'ring_test: ']) {
    const { results, faults } = read(KUNIT.map((line) => (line.startsWith('a ') ? line : `${prefix}${line}`)));
    t.same(results, ['ring/wraps', 'not ring/overflows', 'not ring'], `prefix "${prefix}"`);
    t.same(faults, []);
  }
});

t.test('documents of two modules that mix', async (t) => {
  const { results, faults } = read([
    'a: KTAP version 1',
    'b: KTAP version 1',
    'a: 1..1',
    'b: 1..1',
    'b: ok 1 second',
    'a: ok 1 first',
  ]);
  t.same(results, ['second', 'first']);
  t.same(faults, []);
});

t.test('documents one after the other', async (t) => {
  const one = ['KTAP version 1', '1..1', 'ok 1 a'];
  t.match(read([...one, ...one]), { results: ['a', 'a'], faults: [], count: 2 });
});

t.test('a document that stops in the middle is a fault', async (t) => {
  t.same(read(['KTAP version 1', '1..2', 'ok 1 a', 'KTAP version 1', '1..1', 'ok 1 b']).faults, [
    'top level: 2 planned, 1 seen',
  ]);
  t.same(read(['m: KTAP version 1']).faults, ['no plan']);
});

t.test('a plan begins a document in the output of a script only', async (t) => {
  t.match(read(['hello', '1..1', 'ok 1 a'], true), { results: ['a'], faults: [] });
  t.match(read(['hello', '1..1', 'ok 1 a']), { results: [], count: 0 });
});

t.test('TAP 12: results begin a document in the output of a script', async (t) => {
  t.match(read(['hello', 'ok 1 - a', 'not ok 2 - b', '1..2'], true), { results: ['a', 'not b'], faults: [], count: 1 });
  t.match(read(['not ok'], true), { results: ['not test 1'], faults: ['no plan'] });
  for (const line of ['ok', 'ok, then', 'okay 1', 'ok the device is up', 'not okay'])
    t.match(read([line], true), { results: [], faults: [], count: 0 }, line);
  t.match(read(['ok 1 - a'], false), { count: 0 }, 'not in the log');
});

t.test('documents without version one after the other', async (t) => {
  const [first, last] = [
    ['1..1', 'ok 1 - a'],
    ['ok 1 - b', '1..1'],
  ];
  for (const lines of [
    [...first, ...first],
    [...first, ...last],
    [...last, ...first],
    [...last, ...last],
    ['1..0 # SKIP x', ...last],
  ])
    t.match(read(lines, true), { faults: [], count: 2 }, lines.join(', '));
});

t.test("the kernel's time stamps are no part of a line", async (t) => {
  const stamps = ['[    1.234567] ', '<6>[   12.345678] ', '[   12.345678][  T123] ', '[12345.345678][ C1] '];
  const lines = ['TAP version 13', '1..2', 'ok 1 - a', 'not ok 2 - b'];
  t.match(
    read(
      lines.map((line, index) => `${stamps[index]}${line}`),
      true,
    ),
    { results: ['a', 'not b'], faults: [] },
  );
});
