// SPDX-License-Identifier: Apache-2.0
/** A statement has the outcome of its test: passed, failed, skipped, or never ended. */
import t from 'tap';
import { formatLedger, LedgerReader } from './ledger-reader.ts';

const OUTPUT = `TAP version 14
# Subtest: good
    # ledger: 9.7.1 | PSNs \\# wrap
    # ledger: 10.1 | second
    ok 1 - inner
    1..1
ok 1 - good # time=3ms
# Subtest: bad
    # ledger: 9.2 | third
    not ok 1 - inner
    1..1
not ok 2 - bad # time=3ms
# Subtest: skipped
    # ledger: 9.3 | fourth
ok 3 - skipped # SKIP not now
# Subtest: lost
    # ledger: 9.4 | fifth`;

t.test('outcomes', async (t) => {
  const reader = new LedgerReader('a.test.ts');
  for (const line of OUTPUT.split('\n')) reader.push(line);
  reader.finish();
  t.same(
    reader.entries.map(({ section, statement, test, passed }) => [section, statement, test, passed]),
    [
      ['9.7.1', 'PSNs # wrap', 'good', true],
      ['10.1', 'second', 'good', true],
      ['9.2', 'third', 'bad', false],
      ['9.3', 'fourth', 'skipped', false],
    ],
    'a test that never ends shows nothing',
  );
  t.same(
    reader.outcomes.map(({ test, passed }) => [test, passed]),
    [
      ['good', true],
      ['bad', false],
      ['skipped', false],
    ],
  );
});

t.test('the document is in the order of the specification', async (t) => {
  const entry = { path: 'a.test.ts', test: 'x|y', passed: true };
  const text = formatLedger([
    { ...entry, section: '10.1', statement: 'b' },
    { ...entry, section: '9.10', statement: 'b' },
    { ...entry, section: '9.7.1', statement: 'a' },
    { ...entry, section: '9.7', statement: 'a' },
  ]);
  t.same(
    [...text.matchAll(/^\| ([\d.]+) /gm)].map(([, section]) => section),
    ['9.7', '9.7.1', '9.10', '10.1'],
  );
  t.match(text, 'x\\|y');
});
