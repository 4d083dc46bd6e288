// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's blocks of send contexts (vuhca_pio_buffer.c), compiled for the host by gcc, over the
 * wraps of their counts at 2^32 and at the 11 bits that the adapter returns.
 */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { compileForHost } from './harness/host-program.ts';

/** Headers of the kernel that vuhca_pio.h includes; kernel.h has the parts that are needed. */
const HEADERS = ['list', 'spinlock', 'wait', 'workqueue'];
const WRAP = 2 ** 32;

t.test('blocks are in order, and freed in order, over every wrap', async (t) => {
  const flags = ['-O1', '-Wno-sign-compare', '-fsanitize=undefined'];
  const program = compileForHost(t.testdir(), 'pio-wraps', flags, HEADERS);
  let seed = 0;
  for (const blocks of [1, 2, 3, 8, 33, 64, 1000, 1023, 1024])
    for (const count of [0, 2 ** 11 - 3, 2 ** 31 - 5, WRAP - 1, WRAP - 5, WRAP - 2000]) {
      const { status, stdout } = spawnSync(program, [blocks, count, ++seed].map(String), { encoding: 'utf8' });
      t.equal(status, 0, `${blocks} blocks from count ${count} on, seed ${seed}: ${stdout.trim()}`);
    }
});
