// SPDX-License-Identifier: Apache-2.0
/**
 * Outputs that docs/COMPLIANCE.md promises: its commands, with less to do, print the lines that
 * stand there, but for their numbers.
 */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { ROOT, readBlocks } from './testing/document-blocks.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

/** Where a block begins, and the command above it with less to do. */
const commands: readonly (readonly [begins: string, script: string, ...options: string[]])[] = [
  ['10000 seeds in', 'chaos', '--seeds', '20'],
  ['9750000 packets', 'fuzz:packets', '--packets', '2000'],
  ['scenario ', 'bench:transport', '--only', 'rc-write-64', '--messages', '2000'],
];

const blocks = readBlocks('docs/COMPLIANCE.md').map(({ lines }) => lines);

/** Matches a line whose numbers and spaces are others. */
function shapeOf(line: string): RegExp {
  const escaped = line.trim().replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll(/\d+(?:\\\.\d+)?/g, '\\d+(?:\\.\\d+)?').replaceAll(/ +/g, ' +')} *$`, 'm');
}

for (const [begins, script, ...options] of commands) {
  t.test(`npm run ${script}`, async (t) => {
    const lines = blocks.find(([first]) => first.startsWith(begins)) ?? [];
    t.not(lines.length, 0, `docs/COMPLIANCE.md still has "${begins}"`);
    const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', script, '--', ...options], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    for (const line of lines) t.match(stdout, shapeOf(line), line);
  });
}
