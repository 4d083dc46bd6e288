// SPDX-License-Identifier: Apache-2.0
/**
 * The C files of a kernel module, and those of the provider, call each other in one direction.
 * Kbuild lists the object files lowest layer first, and so does the README where there is a table
 * of files. A file may use its own functions and variables and those of files before it. Use of a
 * later file's name, a call or a variable, fails the test. Callbacks handed over at run time need
 * no name of the other file, so they may point up. Definitions are read from the text, where they
 * begin a line; a linker would see the same.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

/** The folders of the modules that have layers. */
const MODULES = ['driver', 'kernel', 'driver/ib', 'verbs'];
/** Those whose README has a table of the files; the provider has no Kbuild. */
const TABLES = ['driver', 'driver/ib', 'provider'];

interface CFile {
  readonly name: string;
  /** Functions and variables that other files can use. */
  readonly defined: ReadonlySet<string>;
  /** All words of its text. */
  readonly words: ReadonlySet<string>;
}

const NO_CODE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
const FUNCTION = /^(?!static\b|typedef\b|extern\b)[a-z][\w *]*?\b(\w+)\([^;{}]*\)[^;{}()]*\n\{/gm;
const VARIABLE = /^(?!static\b|typedef\b|extern\b)[a-z][\w *]*?\b(\w+)(?:\[[^\]]*\])*\s*=/gm;
/** A macro of vt.h that defines a variable. */
const SUITE = /^VT_SUITE\((\w+)/gm;

t.test('no C file uses a name of a file in a higher layer', async (t) => {
  for (const folder of new Set([...MODULES, ...TABLES])) {
    const names = MODULES.includes(folder) ? filesOf(read(folder, 'Kbuild')) : tableOf(read(folder, 'README.md'));
    t.ok(names.length > 1 && new Set(names).size === names.length, `${folder}: ${names.length} C files`);
    const files = names.map((name) => readFile(name, read(folder, name)));
    t.ok(countUses(files) >= names.length, `${folder}: the uses are seen`);
    t.same(findUpwardUses(files), [], `${folder}: every use points down`);
  }
});

t.test('the READMEs list all files in their order', async (t) => {
  for (const folder of TABLES) {
    const names = tableOf(read(folder, 'README.md'));
    const all = readdirSync(pathOf(folder)).filter((name) => name.endsWith('.c') && !name.endsWith('.mod.c'));
    t.same([...names].sort(), all.sort(), `${folder}: all files`);
    if (MODULES.includes(folder)) t.same(names, filesOf(read(folder, 'Kbuild')), `${folder}: as in Kbuild`);
  }
});

t.test('a use that points up is found', async (t) => {
  const low = 'int read_it(int a,\n\t    int b)\n{\n\treturn 0;\n}\n';
  const high =
    'const struct ops start_ops = {\n\t.read = read_it,\n};\n\nint start(void)\n{\n\treturn read_it(1, 2);\n}\n';
  const files = (first: string) => [readFile('low.c', first), readFile('high.c', high)];
  t.same(findUpwardUses(files(low)), []);
  t.same(findUpwardUses(files(`${low}/* start() comes later */\nstatic int start_name(void)\n{\n}\n`)), []);
  t.same(findUpwardUses(files(low.replace('return 0', 'return start()'))), ['low.c uses start of high.c']);
  t.same(findUpwardUses(files(`${low}static void *x = &start_ops;\n`)), ['low.c uses start_ops of high.c']);
});

t.test('C files are read from Kbuild in their order', async (t) => {
  const kbuild = 'obj-m := m.o\nccflags-y := -I$(src)/x\n# a.o is lowest\nm-y := a.o b.o\nm-y += c.o\n';
  t.same(filesOf(kbuild), ['a.c', 'b.c', 'c.c']);
});

function pathOf(folder: string): string {
  return fileURLToPath(new URL(folder, import.meta.url));
}

function read(folder: string, name: string): string {
  return readFileSync(join(pathOf(folder), name), 'utf8');
}

/** The C files in the table of a README. */
function tableOf(readme: string): string[] {
  return Array.from(readme.matchAll(/^\| `(\w+\.c)` \|/gm), ([, name]) => name as string);
}

/** The C files of a module's Kbuild, lowest layer first. */
function filesOf(kbuild: string): string[] {
  const module = /^obj-m\s*:=\s*(\w+)\.o$/m.exec(kbuild)?.[1];
  const lines = kbuild.matchAll(new RegExp(`^${module}-y\\s*[:+]=(.*)$`, 'gm'));
  return [...lines].flatMap(([, list]) =>
    list
      .trim()
      .split(/\s+/)
      .map((object) => object.replace(/o$/, 'c')),
  );
}

function readFile(name: string, text: string): CFile {
  const code = text.replace(NO_CODE, ' ');
  const defined = [...code.matchAll(FUNCTION), ...code.matchAll(VARIABLE)].map(([, symbol]) => symbol);
  const suites = Array.from(code.matchAll(SUITE), ([, suite]) => `vt_suite_${suite}`);
  return { name, defined: new Set([...defined, ...suites]), words: new Set(code.match(/\w+/g)) };
}

/** Uses of one file's names by another file of the module. */
function countUses(files: readonly CFile[]): number {
  const all = new Set(files.flatMap(({ defined }) => [...defined]));
  return files.reduce(
    (sum, { defined, words }) => sum + [...words].filter((word) => all.has(word) && !defined.has(word)).length,
    0,
  );
}

function findUpwardUses(files: readonly CFile[]): string[] {
  return files.flatMap((user, i) =>
    files
      .slice(i + 1)
      .flatMap(({ name, defined }) =>
        [...user.words].filter((word) => defined.has(word)).map((word) => `${user.name} uses ${word} of ${name}`),
      ),
  );
}
