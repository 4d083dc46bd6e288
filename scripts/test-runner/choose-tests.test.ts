// SPDX-License-Identifier: Apache-2.0
/** The tests that a command names. */
import t from 'tap';
import { findNamed, findTests } from './choose-tests.ts';

const OWN = 'scripts/test-runner/choose-tests.test.ts';

t.test('a folder stands for its tests of the tier', async (t) => {
  const quick = findNamed(['scripts/test-runner/', `./${OWN}`, import.meta.filename], ['quick']);
  t.ok(quick.length > 3 && quick.every((path) => /^scripts\/test-runner\/.*\.test\.ts$/.test(path)), quick.join(' '));
  t.equal(new Set(quick).size, quick.length, 'each once');
  const all = findNamed(['scripts/test-runner'], ['quick', 'long']);
  t.same(
    all.filter((path) => !quick.includes(path)),
    ['scripts/test-runner/shards.long.ts'],
  );
  t.same(findNamed(['.'], ['long']), findTests('long'));
});

t.test('a file is taken as it is', async (t) => {
  t.same(findNamed([OWN, `./${OWN}`, import.meta.filename], ['long']), [OWN]);
});

t.test('what names no tests is refused', async (t) => {
  t.throws(() => findNamed(['device/fabrics'], ['quick']), { message: 'device/fabrics: no such file or folder' });
  t.throws(() => findNamed(['docs'], ['quick', 'long']), {
    message: 'docs: no tests of this tier (*.test.ts, *.long.ts)',
  });
});
