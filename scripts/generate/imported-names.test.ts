// SPDX-License-Identifier: Apache-2.0
/**
 * Generated modules have the declarations that sources import, those that these need, and nothing
 * else. A source that imports more gets it; one that imports a name of no table is reported, with
 * similar names.
 */
import { join } from 'node:path';
import t from 'tap';
import { GeneratedImports, ImportError } from './imported-names.ts';
import { findStale, writeOutputs } from './main.ts';
import { generateOutputs, type TableSet } from './outputs.ts';
import { smallSet } from './small-tables.ts';

const FOLDER = 'protocol/layout/gen';
const set: TableSet = { ...smallSet(), folder: FOLDER };

/** The imports of sources, by path. */
function importsOf(sources: Readonly<Record<string, string>>): GeneratedImports {
  const imports = new GeneratedImports();
  for (const [path, text] of Object.entries(sources)) imports.add(path, text);
  return imports;
}

/** Names that the modules export, by the name of their file. */
function exportsOf(text: string, path = 'device/hca/unit.ts'): Record<string, string[]> {
  const outputs = generateOutputs([set], { imports: importsOf({ [path]: text }) });
  const modules = [...outputs].filter(([file]) => file.endsWith('.gen.ts'));
  return Object.fromEntries(
    modules.map(([file, code]) => [
      file.slice(FOLDER.length + 1, -'.gen.ts'.length),
      [...code.matchAll(/^export (?:const|function|interface) (\w+)/gm)].map(([, name]) => name),
    ]),
  );
}

function refusal(text: string): string {
  try {
    exportsOf(text);
  } catch (error) {
    if (error instanceof ImportError) return error.message;
    throw error;
  }
  return 'accepted';
}

const FROM = `from '../../protocol/layout/gen/small-little.gen.ts'`;
const QPN = { 'small-little': ['getSmallLittleQpn'] };

t.test('every form of import counts', async (test) => {
  const forms = {
    plain: `import { getSmallLittleQpn } ${FROM};`,
    'with others': `import a from 'a';\nimport { getSmallLittleQpn, } ${FROM}; import b from 'b';`,
    'on lines': `import {\n  getSmallLittleQpn,\n} ${FROM};`,
    renamed: `import { getSmallLittleQpn as qpnOf } ${FROM};`,
    'double quotes': `import { getSmallLittleQpn } ${FROM.replaceAll("'", '"')}`,
    'passed on': `export { getSmallLittleQpn } ${FROM};`,
    'at run time': `const { getSmallLittleQpn: qpnOf } = await import(${FROM.slice('from '.length)});`,
  };
  for (const [form, text] of Object.entries(forms)) test.same(exportsOf(text), QPN, form);
  const fromTest = `import { getSmallLittleQpn } from './gen/small-little.gen.ts';`;
  test.same(exportsOf(fromTest, 'protocol/layout/a.long.ts'), QPN, 'from a folder next to it, in a test');
});

t.test('imports of whole modules count for all names', async (test) => {
  const all = Object.keys(
    await import(join(t.testdir({ 'all.ts': generateOutputs([set]).get(`${FOLDER}/values.gen.ts`) ?? '' }), 'all.ts')),
  );
  const from = `'../../protocol/layout/gen/values.gen.ts'`;
  for (const text of [
    `import * as values from ${from};`,
    `export * from ${from};`,
    `const values = await import(${from});`,
    `type Values = typeof import(${from});`,
  ]) {
    test.same(exportsOf(text).values.sort(), all.sort(), text);
  }
});

t.test('what code names comes with it', async (test) => {
  test.same(exportsOf(`import type { SmallLittle } ${FROM};`), { 'small-little': ['SmallLittle'] });
  test.same(exportsOf(`import { type SmallLittle, newSmallLittle } ${FROM};`), {
    'small-little': ['SmallLittle', 'newSmallLittle'],
  });
  test.same(
    exportsOf(`import { decodeSmallLittle } ${FROM};`)['small-little'],
    [...['Length', 'High', 'Odd', 'Deep'].map((field) => `getSmallLittle${field}`), 'SmallLittle', 'decodeSmallLittle'],
    'its type, and the accessors that it calls',
  );
  test.same(exportsOf(`import { smallStateName } from '../../${FOLDER}/values.gen.ts';`), {
    values: ['smallStateNames', 'smallStateName'],
  });
});

t.test('a comment or a name alone brings nothing', async (test) => {
  test.same(exportsOf(`// getSmallLittleQpn in gen/small-little.gen.ts\ngetSmallLittleQpn(view, 0);`), {});
  test.same(exportsOf(`import { getSmallLittleQpn } from './elsewhere/small-little.gen.ts';`), {});
});

t.test('a new import is stale until it is generated, and so is the last one that goes', async (test) => {
  const root = test.testdir({ protocol: { layout: { gen: {} } } });
  const outputs = (text: string) => generateOutputs([set], { imports: importsOf({ 'device/hca/unit.ts': text }) });
  const path = `${FOLDER}/small-little.gen.ts`;
  writeOutputs(root, outputs(`import { getSmallLittleQpn } ${FROM};`));
  const more = outputs(`import { getSmallLittleQpn, setSmallLittleQpn } ${FROM};`);
  test.same(findStale(root, more), { changed: [path], leftOver: [] });
  test.same(writeOutputs(root, more), [path]);
  test.same(findStale(root, more), { changed: [], leftOver: [] });
  test.same(findStale(root, outputs('')), { changed: [], leftOver: [path] });
});

t.test('what no table leads to is named, with its importer and the nearest names', async (test) => {
  test.equal(
    refusal(`import { getSmallLittleQpm } ${FROM};`),
    `device/hca/unit.ts imports getSmallLittleQpm; ${FOLDER}/small-little.gen.ts can have getSmallLittleQpn, getSmallLittleOpcode, getSmallLittleFlag`,
  );
  test.equal(
    refusal(`import { A } from '../../${FOLDER}/small-litle.gen.ts';`),
    `device/hca/unit.ts imports ${FOLDER}/small-litle.gen.ts, and no table has this name`,
  );
});
