// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of docs/TESTING.md, "Several machines", with fewer seeds: shards tell which work
 * they leave to others, their files are joined, and a missing shard is named.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandBlocksOf, ROOT } from '../cli/testing/document-blocks.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const SHARDS = 4;
const SEEDS = 10;

t.test('shards of chaos', async (t) => {
  const [chaos = '', join_ = ''] = commandBlocksOf('docs/TESTING.md', 'npm run simulate -- chaos --seeds 10000').flat();
  const call = (command: string) => spawnSync('sh', ['-c', command], { cwd: ROOT, encoding: 'utf8' });
  const file = (number: number): string => join(ROOT, `build/shards/chaos-${number}-of-${SHARDS}.json`);
  for (let number = 1; number <= SHARDS; number++) {
    const command = chaos.replace('10000', `${SEEDS}`).replace('2/4', `${number}/${SHARDS}`);
    const { status, stdout, stderr } = call(command);
    t.equal(status, 0, stderr);
    t.match(
      stdout,
      new RegExp(`^shard ${number}/4: [23] of ${SEEDS} seeds, from seed \\d+ on, the others have [78]$`, 'm'),
    );
  }
  t.match(call(join_), { status: 0, stdout: new RegExp(`^${SEEDS} passed, 0 failed$`, 'm') });
  rmSync(file(3));
  t.match(call(join_), { status: 1, stderr: /shard 3\/4 of `npm run simulate -- chaos .*` is missing/ });
});
