// SPDX-License-Identifier: Apache-2.0
/**
 * Compiled programs: constants that esbuild turned into variables are constants again, and
 * everything else is unchanged, line by line.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { bindConstants, compile } from './compile.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

t.test('tables, numbers and imports of chunks become constants', async (t) => {
  const cases: [string, string][] = [
    ['var Kind = {\n  NONE: 0\n};', 'const Kind = {\n  NONE: 0\n};'],
    ['var SIZE = 64;', 'const SIZE = 64;'],
    ['var HALF_SIZE2 = SIZE / 2;', 'const HALF_SIZE2 = SIZE / 2;'],
    ['var { NONE, SOME: SOME2 } = Kind;', 'const { NONE, SOME: SOME2 } = Kind;'],
    ['var {\n  NONE\n} = Kind;', 'const {\n  NONE\n} = Kind;'],
    ['var [FIRST, LAST] = [1, 2];', 'const [FIRST, LAST] = [1, 2];'],
    [
      'import {\n  Kind,\n  kindName,\n  SIZE\n} from "./chunk-A.js";',
      'import {\n  Kind as Kind$,\n  kindName,\n  SIZE as SIZE$\n} from "./chunk-A.js"; const Kind = Kind$, SIZE = SIZE$;',
    ],
    ['import { Kind } from "./chunk-A.js";', 'import { Kind } from "./chunk-A.js";'],
  ];
  for (const [before, after] of cases) t.equal(bindConstants(before), after);
  const unchanged = [
    'var count = 0;',
    'var count = {};',
    'var SIZE;',
    'var Kind = makeKind();',
    '  var Kind = {};',
    'var Unit = class _Unit {\n};',
    'import {\n  kindName\n} from "./chunk-A.js";',
    'import {\n  Kind as Kind2\n} from "./chunk-A.js";',
    'import {\n  Command\n} from "commander";',
    'import { Buffer } from "node:buffer";',
    'export {\n  Kind\n};',
  ];
  for (const text of unchanged) t.equal(bindConstants(text), text);
});

t.test('the program keeps its lines, and declares no table as a variable', async (t) => {
  const folder = t.testdir();
  const read = (root: string, name: string): string => readFileSync(join(root, name), 'utf8');
  const sources = await compile(folder);
  const variables = sources.filter((path) => /^(export )?(let|var) ([A-Z]|[[{])/m.test(read(ROOT, path)));
  t.same(variables, [], 'no variable of a source looks like a constant');
  const chunks = readdirSync(folder).filter((name) => name.endsWith('.js'));
  t.ok(chunks.includes('main.js') && chunks.length > 10);
  let [tables, imports] = [0, 0];
  for (const name of chunks) {
    const text = read(folder, name);
    if (/^var ([A-Z]\w* = [\d{]|[[{])/m.test(text)) t.fail(`${name} declares a constant as a variable`);
    tables += text.match(/^const [A-Z]\w* = \{/gm)?.length ?? 0;
    for (const [, names, from] of text.matchAll(/^import \{([^}]*)\} from "(\.[^"]*)";/gm)) {
      if (/^ *[A-Z]\w*,?$/m.test(names)) t.fail(`${name} imports a variable from ${from}`);
      imports += names.match(/ as \w+\$/g)?.length ?? 0;
    }
    const { mappings } = JSON.parse(read(folder, `${name}.map`)) as { mappings: string };
    if (mappings.split(';').length > text.split('\n').length) t.fail(`${name} lacks lines of its map`);
  }
  t.ok(tables > 100 && imports > 100, `${tables} tables, ${imports} imports`);
});

t.test('another source of another checkout', async (t) => {
  const folder = t.testdir({ 'package.json': '{ "type": "module" }' });
  writeFileSync(
    join(folder, 'table.ts'),
    'export const Kind = { NONE: 0, SOME: 7 } as const;\nexport const SIZE: number = 64;\n',
  );
  writeFileSync(
    join(folder, 'entry.ts'),
    "import { Kind, SIZE } from './table.ts';\nlet calls = 0;\nexport const sum = (): number => Kind.SOME + SIZE + calls++;\n",
  );
  t.same(await compile(join(folder, 'out'), { root: folder, entry: 'entry.ts' }), ['table.ts', 'entry.ts']);
  const { sum } = (await import(pathToFileURL(join(folder, 'out', 'entry.js')).href)) as { sum: () => number };
  t.same([sum(), sum()], [71, 72]);
});
