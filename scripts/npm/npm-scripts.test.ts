// SPDX-License-Identifier: Apache-2.0
/**
 * The scripts of package.json: few enough to remember, groups whose programs exist, old names that
 * lead to new ones. No text of the repository names a script that does not exist.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { choose } from './choose.ts';
import { type Group, groups } from './groups.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MOST_SCRIPTS = 25;
/** An old name, with its script and words. */
const RENAMED = /^node scripts\/npm\/renamed\.mjs (\S+)(?: (\S+))?/;
/** Documents that mention names of the past. */
const HISTORIES = ['docs/CHANGELOG.md', 'docs/STATUS.md'];

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
const names = Object.keys(scripts).filter((name) => name !== '//');
const isOld = (name: string): boolean => RENAMED.test(scripts[name]);

t.test('the scripts are few, and old names stand behind a comment', async (t) => {
  const real = names.filter((name) => !isOld(name));
  t.ok(real.length <= MOST_SCRIPTS, `${real.length} scripts: ${real.join(', ')}`);
  const order = Object.keys(scripts);
  t.same(
    order.map((name, at) => [name, at > order.indexOf('//')]),
    order.map((name) => [name, RENAMED.test(scripts[name])]),
  );
});

t.test('each old name leads to a script, and to a program of it', async (t) => {
  for (const name of names.filter(isOld)) {
    const [, script, choice] = RENAMED.exec(scripts[name]) ?? [];
    t.ok(names.includes(script) && !isOld(script), `${name}: ${script}`);
    if (choice !== undefined) t.ok(groups[script]?.choices[choice], `${name}: ${script} ${choice}`);
  }
});

t.test('each group has a script, and its programs exist', async (t) => {
  for (const [name, { choices, usual }] of Object.entries(groups)) {
    t.match(scripts[name], new RegExp(`scripts/npm/main\\.ts ${name}$`), name);
    for (const { file } of Object.values(choices)) t.ok(existsSync(join(ROOT, file)), file);
    if (usual !== undefined) t.ok(choices[usual], usual);
  }
});

t.test('a program gets the words behind its name', async (t) => {
  const group: Group = {
    purpose: 'Draws.',
    choices: {
      circle: { purpose: 'a circle', file: 'circle.ts' },
      square: { purpose: 'a square', file: 'square.ts', words: ['--corners'] },
    },
  };
  const chosen = (...words: string[]) => choose('demo', group, words);
  t.same(chosen('circle'), { file: 'circle.ts', words: [] });
  t.same(chosen('circle', '--help'), { file: 'circle.ts', words: ['--help'] }, 'help of the program');
  t.same(chosen('circle', '--size', '3', 'red', '--', '-x'), {
    file: 'circle.ts',
    words: ['--size', '3', 'red', '--', '-x'],
  });
  t.same(chosen('circle', 'red', '--', '-x'), { file: 'circle.ts', words: ['red', '--', '-x'] });
  t.same(chosen('square', '--size=3'), { file: 'square.ts', words: ['--corners', '--size=3'] });
  t.throws(() => chosen(), { message: /^name one of circle, square; `npm run demo -- --help`/ });
  t.throws(() => chosen('--size'), { message: /^name one of circle, square/ });
  t.throws(() => chosen('cirle'), { message: /unknown command 'cirle' \(Did you mean circle\?\)/ });
  const usual: Group = { ...group, usual: 'square' };
  t.same(choose('demo', usual, []), { file: 'square.ts', words: ['--corners'] });
  t.same(choose('demo', usual, ['--circle', '--size', '3']), { file: 'circle.ts', words: ['--size', '3'] });
  t.same(choose('demo', usual, ['--size', '3']), { file: 'square.ts', words: ['--corners', '--size', '3'] });
});

t.test('every command that the repository names is there, by its present name', async (t) => {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  let count = 0;
  for (const path of files) {
    if (path === '' || HISTORIES.includes(path) || !existsSync(join(ROOT, path))) continue;
    for (const { command, name, choice } of readCommands(readFileSync(join(ROOT, path), 'utf8'))) {
      count++;
      const isThere = names.includes(name) && !isOld(name);
      const has = choice === undefined || choice in groups[name].choices;
      if (!isThere || !has) t.fail(`${path} names \`${command}\``);
    }
  }
  t.ok(count > 200, `${count} commands`);
});

/** The commands in a text, also where a line of a comment ends within one. */
function readCommands(text: string) {
  const plain = text.replaceAll(/\n[ *#/]*/g, ' ');
  return [...plain.matchAll(/\bnpm run (?:--silent )?([a-z][\w:]*)(?: -- ([a-z]\w*))?/g)].map(
    ([command, name, choice]) => ({ command, name, choice: name in groups ? choice : undefined }),
  );
}
