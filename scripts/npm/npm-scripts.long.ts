// SPDX-License-Identifier: Apache-2.0
/**
 * Every npm script that runs a file of ours has help, and so has every program of a group: `npm run
 * NAME -- --help` prints the usage, ends with 0, and does nothing else. An old name prints the new
 * one and does the same: that call passes through npm, bootstrap.mjs and main.ts, as all others
 * would; theirs begin with what these lead to.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { choose } from './choose.ts';
import { groups } from './groups.ts';
import type { Help, HelpCall } from './testing/print-help.ts';

const OLD = 'chaos';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PRINT_HELP = fileURLToPath(new URL('testing/print-help.ts', import.meta.url));

t.setTimeout(0);

const run = promisify(execFile);
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const calls: (HelpCall & { readonly name: string })[] = [];
for (const [name, command] of Object.entries<string>(scripts)) {
  const [, file, words = ''] = /^node scripts\/bootstrap\.mjs (?:--\S+ )*(\S+\.ts)((?: [^ &]+)*)$/.exec(command) ?? [];
  if (file !== undefined) calls.push({ name, file, words: words.split(' ').slice(1) });
}
for (const [name, group] of Object.entries(groups))
  for (const choice of Object.keys(group.choices))
    calls.push({ name: `${name} ${choice}`, ...choose(name, group, [choice]) });

t.test('help', async (t) => {
  t.ok(calls.length > 35, `${calls.length} programs`);
  // A process has a module once, and some programs have several names.
  for (let rest = calls; rest.length > 0; ) {
    const now = rest.filter(({ file }, place) => rest.findIndex((other) => other.file === file) === place);
    rest = rest.filter((one) => !now.includes(one));
    const words = ['--expose-gc', '--import=#typescript', PRINT_HELP, JSON.stringify(now)];
    const { stdout } = await run(process.execPath, words, { cwd: ROOT, maxBuffer: 1 << 24 });
    const all = JSON.parse(stdout.trimEnd().split('\n').at(-1) as string) as Help[];
    for (const [place, { name }] of now.entries())
      t.match(all[place], { stdout: /^Usage: npm (run |start|test)/, stderr: /^$/, status: 0 }, name);
  }
});

t.test('an old name', async (t) => {
  // Without `--silent` npm's own lines would come before the help.
  const { stdout, stderr } = await run('npm', ['run', '--silent', OLD, '--', '--help'], { cwd: ROOT });
  t.match(stdout, /^Usage: npm run simulate -- chaos /);
  t.equal(stderr, `\`npm run ${OLD}\` is now \`npm run simulate -- chaos --help\`.\n`);
});
