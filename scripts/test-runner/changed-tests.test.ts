// SPDX-License-Identifier: Apache-2.0
/** A change affects the tests that import a file, or that read it through another file. */
import t from 'tap';
import { affectedTests, readImports } from './changed-tests.ts';
import { findTests } from './choose-tests.ts';

const IMPORTS = new Map([
  ['device/a.test.ts', ['device/a.ts']],
  ['device/b.test.ts', ['device/b.ts']],
  ['device/b.ts', ['device/a.ts']],
  ['guest-tests/guest.test.ts', ['guest-tests/cases.ts']],
  ['guest-tests/cases.ts', []],
  ['scripts/readme.test.ts', []],
]);
const TEXTS = new Map([
  ['guest-tests/cases.ts', "build(['driver', 'kernel']); read('kernel.sh'); // read('other.sh')"],
  ['device/b.ts', "const driver = 'of the adapter';"],
  ['scripts/readme.test.ts', "/** Not of init.sh. */\nread('README.md');\n// and not other.sh\n"],
]);
const TESTS = [...IMPORTS.keys()].filter((path) => path.endsWith('.test.ts'));

function affected(...changed: string[]): string[] {
  return affectedTests(TESTS, changed, IMPORTS, TEXTS);
}

t.test('the importers of a file, directly or not', async (t) => {
  t.same(affected('device/a.ts'), ['device/a.test.ts', 'device/b.test.ts']);
  t.same(affected('device/b.ts'), ['device/b.test.ts']);
  t.same(affected('device/b.test.ts'), ['device/b.test.ts'], 'a test itself');
});

t.test('what is read by its name, or as part of a folder of the guest', async (t) => {
  t.same(affected('README.md'), ['scripts/readme.test.ts']);
  t.same(affected('guest-tests/driver/vuhca_main.c'), ['guest-tests/guest.test.ts']);
  t.same(affected('guest-tests/cases/kernel.sh'), ['guest-tests/guest.test.ts']);
  t.same(affected('qemu/init.sh', 'docs/NOTHING.md'), [], 'a comment names much that is not read');
});

t.test('the list of packages concerns all', async (t) => {
  t.same(affected('package-lock.json'), TESTS);
});

t.test('the imports of all tests of this tree can be read', async (t) => {
  const imports = await readImports([...findTests('quick'), ...findTests('long')]);
  t.ok(imports.get('scripts/test-runner/changed-tests.test.ts')?.includes('scripts/test-runner/choose-tests.ts'));
  t.ok(imports.get('scripts/cli/program.long.ts')?.includes('scripts/cli/program.test.ts'), 'also by import()');
});
