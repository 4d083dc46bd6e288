// SPDX-License-Identifier: Apache-2.0
/** Tests of how the tests are spread over processes. */
import t from 'tap';
import { moduleOf, planProcesses } from './test-processes.ts';

const FILES = [
  'device/random.test.ts',
  'device/lane/b.test.ts',
  'device/lane/a.test.ts',
  'device/lane/deep/c.test.ts',
  'device/main/live.test.ts',
  'protocol/infiniband/packet.test.ts',
  'protocol/vfio-user/dma.test.ts',
  'scripts/cli/run-command.test.ts',
  'guest-tests/guest.test.ts',
];

t.test('pure tests of a folder share a process, in the order of their names', async (t) => {
  const lane = planProcesses(FILES).find(({ name }) => name === 'device/lane');
  t.strictSame(lane?.files, ['device/lane/a.test.ts', 'device/lane/b.test.ts', 'device/lane/deep/c.test.ts']);
});

t.test('a file that starts processes, or is alone, has its own', async (t) => {
  const names = planProcesses(FILES).map(({ name }) => name);
  t.strictSame(names, [
    'device/lane',
    'device/main/live.test.ts',
    'device/random.test.ts',
    'guest-tests/guest.test.ts',
    'protocol/infiniband/packet.test.ts',
    'protocol/vfio-user/dma.test.ts',
    'scripts/cli/run-command.test.ts',
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
  const text = moduleOf({ name: 'device/lane', files: ['device/lane/a.test.ts', 'device/lane/b.test.ts'] }, '../..');
  t.equal(text, "await import('../../device/lane/a.test.ts');\nawait import('../../device/lane/b.test.ts');\n");
});
