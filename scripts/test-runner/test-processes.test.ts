// SPDX-License-Identifier: Apache-2.0
/** Tests of the distribution of tests over processes. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { moduleOf, planProcesses } from './test-processes.ts';

const FILES = [
  'device/random.test.ts',
  'device/hca/lane/b.test.ts',
  'device/hca/lane/a.test.ts',
  'device/hca/lane/deep/c.test.ts',
  'device/hca/lane/a.long.ts',
  'device/process/control/control.test.ts',
  'device/process/host/timeline.test.ts',
  'protocol/infiniband/packet.test.ts',
  'protocol/vfio-user/dma.test.ts',
  'scripts/cli/run/run-command.test.ts',
  'scripts/plot/plot.test.ts',
  'guest-tests/guest.test.ts',
];

t.test('short tests share a process, in the order of their names', async (t) => {
  const lane = planProcesses(FILES).find(({ name }) => name === 'device/commands');
  t.strictSame(lane?.files, [
    'device/hca/lane/a.test.ts',
    'device/hca/lane/b.test.ts',
    'device/hca/lane/deep/c.test.ts',
  ]);
});

t.test('a file that starts guests, is long, or has no neighbour, has its own', async (t) => {
  const names = planProcesses(FILES).map(({ name }) => name);
  t.strictSame(names, [
    'device/hca/lane/a.long.ts',
    'device/commands',
    'device/process',
    'device/random.test.ts',
    'guest-tests/guest.test.ts',
    'protocol/infiniband/packet.test.ts',
    'protocol/vfio-user/dma.test.ts',
    'scripts/cli/run/run-command.test.ts',
    'scripts/plot/plot.test.ts',
  ]);
});

t.test('each file runs once', async (t) => {
  t.strictSame(
    planProcesses(FILES)
      .flatMap(({ files }) => files)
      .sort(),
    [...FILES].sort(),
  );
});

t.test('the module of a process imports its files in turn', async (t) => {
  const text = moduleOf(
    { name: 'device/hca/lane', files: ['device/hca/lane/a.test.ts', 'device/hca/lane/b.test.ts'] },
    '../..',
  );
  t.same(
    text.split('\n').filter((line) => line.startsWith('await')),
    ["await import('../../device/hca/lane/a.test.ts');", "await import('../../device/hca/lane/b.test.ts');"],
  );
  t.match(text, /^t\.comment\('file: device\/hca\/lane\/b\.test\.ts'\);\nawait/m, 'and says which comes');
});

t.test('a teardown of one file ends no tests of those behind it', async (t) => {
  const folder = t.testdir({
    'a.mjs':
      "import t from 'tap';\nt.teardown(() => {});\nt.test('first', async () => {});\nawait new Promise(setImmediate);\n",
    'b.mjs':
      "import t from 'tap';\nawait new Promise((done) => setTimeout(done, 20));\nt.test('second', async () => {});\n",
  });
  writeFileSync(join(folder, 'all.mjs'), moduleOf({ name: 'all', files: ['a.mjs', 'b.mjs'] }, '.'));
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'all.mjs')]);
  t.match(stdout, /^ok 1 - first/m);
  t.match(stdout, /^ok 2 - second/m);
});
