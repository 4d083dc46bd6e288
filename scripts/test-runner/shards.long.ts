// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of docs/TESTING.md, "Several machines", with fewer seeds and shards: shards tell
 * which work they leave to others, and their files are joined. scripts/shards/summary.test.ts has
 * files that do not belong together.
 */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { commandBlocksOf, ROOT } from '../cli/testing/document-blocks.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const SHARDS = 2;
const SEEDS = 5;

t.test('shards of chaos', async (t) => {
  const [chaos = '', join = ''] = commandBlocksOf('docs/TESTING.md', 'npm run simulate -- chaos --seeds 10000').flat();
  const call = (command: string) => spawnSync('sh', ['-c', command], { cwd: ROOT, encoding: 'utf8' });
  for (let number = 1; number <= SHARDS; number++) {
    const command = chaos.replace('10000', `${SEEDS}`).replace('2/4', `${number}/${SHARDS}`);
    const { status, stdout, stderr } = call(command);
    t.equal(status, 0, stderr);
    t.match(stdout, new RegExp(`^shard ${number}/2: [23] of 5 seeds, from seed \\d+ on, the others have [23]$`, 'm'));
  }
  const joined = call(join.replace('of-4', `of-${SHARDS}`));
  t.match(joined, { status: 0, stdout: new RegExp(`^${SEEDS} passed, 0 failed$`, 'm') });
});
