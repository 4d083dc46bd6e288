// SPDX-License-Identifier: Apache-2.0
/**
 * Every npm script that runs a file of ours has help, and so has every program of a group: `npm run
 * NAME -- --help` prints the usage, ends with 0, and does nothing else. An old name prints the new
 * one and does the same. npm itself runs one script; the others run as npm would run them.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { groups } from './groups.ts';

const OLD = 'chaos';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

t.setTimeout(0);

type Said = Promise<{ stdout: string; stderr: string }>;

/** Calls `npm run --silent`: npm's own lines would come before the help. */
function callNpm(...words: string[]): Said {
  return promisify(execFile)('npm', ['run', '--silent', ...words], { cwd: ROOT });
}

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The command of a script, followed by the words. */
function callScript(name: string, ...words: string[]): Said {
  return promisify(execFile)('sh', ['-c', `exec ${scripts[name]} "$@"`, name, ...words], { cwd: ROOT });
}

const calls = Object.entries<string>(scripts)
  .filter(([, command]) => /^node scripts\/bootstrap\.mjs [^&]*\.ts/.test(command))
  .map(([name]) => [name]);
for (const [name, { choices }] of Object.entries(groups))
  for (const choice of Object.keys(choices)) calls.push([name, choice]);
for (const [name, ...words] of calls)
  t.test([name, ...words].join(' '), async (t) => {
    const { stdout, stderr } = await callScript(name, ...words, '--help');
    t.match(stdout, /^Usage: npm (run |start|test)/);
    t.equal(stderr, '');
  });

t.test('an old name', async (t) => {
  const { stdout, stderr } = await callNpm(OLD, '--', '--help');
  t.match(stdout, /^Usage: npm run simulate -- chaos /);
  t.equal(stderr, `\`npm run ${OLD}\` is now \`npm run simulate -- chaos --help\`.\n`);
});
