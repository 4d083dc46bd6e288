// SPDX-License-Identifier: Apache-2.0
/** Uses of other folders by a module, in each form that sources can have. */
import t from 'tap';
import type { ModuleSources } from './module-sources.ts';
import { findUses } from './module-uses.ts';

function folder(name: string, files: Readonly<Record<string, string>>): ModuleSources {
  const list = Object.entries({ Kbuild: `obj-m := ${name}.o\n`, ...files });
  return {
    name,
    directory: `/src/${name}`,
    files: list.map(([path, text]) => ({ path, content: Buffer.from(text) })),
  };
}

/** `NAME: HEADER HEADER +`, where the plus sign stands for symbols. */
function usesOf(sources: ModuleSources, ...others: readonly ModuleSources[]): string[] {
  return findUses(sources, others).map(({ other, headers, symbols }) =>
    [`${other.name}:`, ...headers.map(({ path }) => path), ...(symbols ? ['+'] : [])].join(' '),
  );
}

const LOW = folder('low', {
  'low.h': '#include "low_types.h"\nint low_get(void);\n',
  'low_types.h': 'struct low { int a; };\n',
  'sub/low_other.h': '',
  'low.c': 'int low_get(void) { return 1; }\nEXPORT_SYMBOL_GPL(low_get);\nEXPORT_SYMBOL(low_set);\n',
});
const HIGH = folder('high', {
  'high.h': '#include <low_types.h>\n',
  'high.c': 'EXPORT_SYMBOL_NS_GPL(high_go, HIGH);\n',
});

t.test('a module that uses nothing of others', (t) => {
  t.same(usesOf(folder('mine', { 'mine.c': '/* lower: low */\n#include <linux/module.h>\n' }), LOW, HIGH), []);
  t.same(usesOf(folder('mine', { 'mine.c': 'low_get2(); xlow_get();\n' }), LOW), [], 'other words');
  t.end();
});

t.test('headers, in each form, with those that they include', (t) => {
  for (const line of [
    '#include "low.h"',
    '# include <low.h>',
    '\t#include "../low/low.h" /* x */',
    '#include <x/low.h>',
  ])
    t.same(usesOf(folder('mine', { 'mine.c': `${line}\n` }), LOW), ['low: low.h low_types.h'], line);
  t.same(usesOf(folder('mine', { 'mine.h': '#include <low_types.h>\n' }), LOW), ['low: low_types.h'], 'a header');
  t.same(usesOf(folder('mine', { 'mine.S': '#include <low_types.h>\n' }), LOW), ['low: low_types.h'], 'an assembly');
  t.same(usesOf(folder('mine', { 'mine.c': '#include <low_other.h>\n' }), LOW), ['low: sub/low_other.h']);
  t.same(
    usesOf(folder('mine', { 'mine.c': '#include <high.h>\n' }), LOW, HIGH),
    ['low: low_types.h', 'high: high.h'],
    'a header of another folder, by a header',
  );
  t.same(
    usesOf(folder('mine', { Kbuild: 'obj-m := mine.o\nccflags-y := -include $(src)/../low/low_types.h\n' }), LOW),
    ['low: low_types.h'],
    'by the makefile',
  );
  t.same(
    usesOf(folder('mine', { 'mine.c': '#define H <low.h>\n#include H\n' }), LOW),
    ['low: low.h low_types.h sub/low_other.h'],
    'a name that only the compiler knows: all',
  );
  t.end();
});

t.test('a header of its own hides those of its name', (t) => {
  t.same(usesOf(folder('mine', { 'mine.c': '#include "low.h"\n', 'low.h': '' }), LOW), []);
  t.end();
});

t.test('symbols', (t) => {
  t.same(usesOf(folder('mine', { 'mine.c': 'extern int low_get(void);\n' }), LOW, HIGH), ['low: +']);
  t.same(usesOf(folder('mine', { 'mine.c': 'x = &low_set;\n' }), LOW, HIGH), ['low: +']);
  t.same(usesOf(folder('mine', { 'mine.h': '#define GO() high_go()\n' }), LOW, HIGH), ['high: +']);
  t.same(
    usesOf(folder('mine', { 'mine.c': '#include <low.h>\nlow_get();\n' }), LOW, HIGH),
    ['low: low.h low_types.h +'],
    'with a header',
  );
  t.end();
});

t.test('the nearest folder gives a symbol that several export', (t) => {
  const again = folder('again', { 'again.c': 'EXPORT_SYMBOL(low_get);\n' });
  t.same(usesOf(folder('mine', { 'mine.c': 'low_get();\n' }), LOW, again), ['again: +']);
  t.same(usesOf(folder('mine', { 'mine.c': 'low_get(); low_set();\n' }), LOW, again), ['low: +', 'again: +']);
  t.end();
});
