// SPDX-License-Identifier: Apache-2.0
/**
 * Outputs that docs/COMPLIANCE.md promises: its commands, with less to do, print the lines of the
 * page, except for their numbers.
 */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { blocksOf, ROOT } from './testing/document-blocks.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const DOCUMENT = 'docs/COMPLIANCE.md';
/** Where a block begins, and the words of `npm run` for the command above it with less to do. */
const commands: readonly (readonly [begins: string, words: string])[] = [
  ['10000 seeds in', 'simulate -- chaos --seeds 20'],
  ['9750000 packets', 'simulate -- fuzz --packets 2000'],
  ['scenario ', 'bench -- transport --only rc-write-64 --messages 2000'],
];

/** Matches a line whose numbers and spaces may differ. */
function shapeOf(line: string): RegExp {
  const escaped = line.trim().replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll(/\d+(?:\\\.\d+)?/g, '\\d+(?:\\.\\d+)?').replaceAll(/ +/g, ' +')} *$`, 'm');
}

for (const [begins, words] of commands) {
  t.test(`npm run ${words}`, async (t) => {
    const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', ...words.split(' ')], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    for (const line of blocksOf(DOCUMENT, begins)[0]) t.match(stdout, shapeOf(line), line);
  });
}
