// SPDX-License-Identifier: Apache-2.0
/**
 * Every npm script that runs a file of ours has help: `npm run NAME -- --help` prints the usage,
 * ends with 0, and does nothing else.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

t.setTimeout(0);

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
for (const [name, command] of Object.entries<string>(scripts)) {
  if (!/^node scripts\/bootstrap\.mjs .*\.ts/.test(command)) continue;
  t.test(name, async (t) => {
    // npm's own lines would stand before the help.
    const words = ['run', '--silent', name, '--', '--help'];
    const { stdout, stderr } = await promisify(execFile)('npm', words, { cwd: ROOT });
    t.match(stdout, /^Usage: npm (run |start|test)/);
    t.equal(stderr, '');
  });
}
