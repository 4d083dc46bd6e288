// SPDX-License-Identifier: Apache-2.0
/** Sources that are compiled as a few files: every file once, in its order, with its own names. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { joinSources } from './joined-sources.ts';
import { type ModuleSources, readSources } from './module-sources.ts';

function folder(files: Readonly<Record<string, string>>): ModuleSources {
  const list = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
  return { name: 'mine', directory: '/src/mine', files: list };
}

/** The contents of the files that join adds or changes. */
function join(files: Readonly<Record<string, string>>, isNested = false): Record<string, string> {
  const before = folder(files);
  const { files: after } = joinSources(before, isNested);
  const changed = after.filter((file) => !before.files.includes(file));
  return Object.fromEntries(changed.map(({ path, content }) => [path, content.toString()]));
}

const KBUILD = '# two\nobj-m := mine.o\n\nccflags-y := -DX\nmine-y := a.o\nmine-y += b.o\n';

t.test('a part includes the files in the order of Kbuild', (t) => {
  t.same(join({ 'b.c': 'int b;\n', 'a.c': 'int a;\n', 'c.h': '', Kbuild: KBUILD }), {
    Kbuild: '# two\nobj-m := mine.o\n\nccflags-y := -DX\n\nmine-y := mine_part1.o\n',
    'mine_part1.c': '#include "a.c"\n#include "b.c"\n',
  });
  t.end();
});

t.test('names that two files have for themselves are kept apart', (t) => {
  const statics = [
    'static int same(int a)\n{\n}\n',
    'static const struct x *same[] = {\n',
    'static struct x\nsame;\n',
    'static DEFINE_MUTEX(same);\n',
    'static inline __init void *same(void)\n{\n}\n',
  ];
  const tags = ['struct same {\n};\n', 'struct same\n{\n};\n'];
  const others = [
    'same();\n',
    '\tstatic int same;\n',
    'struct same *x;\n',
    'int same(void);\n',
    'static int notsame;\n',
  ];
  const check = (a: string, b: string, isApart: boolean): void => {
    const second = isApart ? '#define same same_of_b_c\n#include "b.c"\n#undef same\n' : '#include "b.c"\n';
    t.equal(join({ Kbuild: KBUILD, 'a.c': a, 'b.c': b })['mine_part1.c'], `#include "a.c"\n${second}`, `${a}${b}`);
  };
  for (const a of statics) for (const b of statics) check(a, b, true);
  for (const a of tags) for (const b of tags) check(a, b, true);
  for (const a of statics) for (const b of [...tags, ...others]) check(a, b, false);
  t.end();
});

t.test('a name that a header uses otherwise is kept apart, in the first file, too', (t) => {
  const joinWith = (header: string, a: string): string | undefined =>
    join({ Kbuild: KBUILD, 'a.c': a, 'b.c': '#include "b.h"\n', 'b.h': header })['mine_part1.c'];
  const apart = '#define same same_of_a_c\n#include "a.c"\n#undef same\n#include "b.c"\n';
  const together = '#include "a.c"\n#include "b.c"\n';
  const [call, type] = ['static bool same(int a)\n{\n}\n', 'struct same {\n};\n'];
  t.equal(joinWith('bool same(struct x *x,\n\t  int b);\n', call), apart);
  t.equal(joinWith('const struct x *same(void);\n', call), apart);
  t.equal(joinWith('struct same {\n\tint a;\n};\n', type), apart);
  t.equal(joinWith('struct same {\n\tint a;\n};\n', call), together, 'a type has its own name');
  t.equal(joinWith('struct same;\nvoid use(struct same *x);\n', type), together, 'a type that only its file knows');
  t.equal(joinWith('struct x {\n\tint same;\n\tvoid (*call)(int same);\n};\n', call), together, 'a member');
  t.equal(joinWith('#define X(a) same(a)\nstatic inline int x(int same)\n{\n\tsame(1);\n}\n', call), together);
  t.end();
});

t.test('a macro that a later file defines, too, ends with its file', (t) => {
  t.equal(
    join({ Kbuild: KBUILD, 'a.c': '#define SAME 1\n#define ONE 1\n', 'b.c': '# define SAME 2\n' })['mine_part1.c'],
    '#include "a.c"\n#undef SAME\n#include "b.c"\n',
  );
  t.end();
});

t.test('in a nested part a file has no more headers and macros than its own', (t) => {
  const files = {
    Kbuild: 'obj-m := mine.o\nmine-y := a.o b.o c.o d.o\n',
    'a.c': '#include "x.h"\n#include <linux/y.h>\n#define A 1\nstatic int a;\n',
    'b.c': '#include "x.h"\nstatic int b(void)\n{\n}\n',
    'c.c': '# include <linux/z.h>\n',
    'd.c': '#include <linux/y.h>\n#include <linux/z.h>\n#include "x.h"\n',
  };
  const { Kbuild, ...parts } = join(files, true);
  t.same(parts, {
    'mine_part1.c': '#include "b.c"\n#include "a.c"\n#undef A\n#include "d.c"\n',
    'mine_part2.c': '#include "c.c"\n',
  });
  t.match(Kbuild, /^mine-y := mine_part1\.o mine_part2\.o$/m);
  t.end();
});

t.test('what is more than one list of C files stays as it is', (t) => {
  const files = { 'a.c': '', 'b.c': '' };
  for (const Kbuild of [
    'obj-m := a.o\n',
    'obj-m := mine.o other.o\nmine-y := a.o b.o\n',
    'obj-m := mine.o\nobj-m += other.o\nmine-y := a.o b.o\n',
    'obj-m := mine.o\nobj-m := other.o\nmine-y := a.o b.o\n',
    'obj-m := mine.o\nmine-y := a.o \\\n\tb.o\n',
    'obj-m := mine.o\nmine-y := a.o b.o c.o\n',
    'obj-m := mine.o\nmine-y := a.o\n',
    'obj-m := mine.o\nmine-y := a.o b.o\nCFLAGS_a.o := -O1\n',
    'obj-m := mine.o\nmine-y := a.o b.o\nCFLAGS_REMOVE_a.o := -O1\n',
  ])
    t.same(join({ Kbuild, ...files }), {}, Kbuild);
  t.same(join({ Makefile: KBUILD, ...files }), {}, 'no Kbuild');
  t.end();
});

t.test('parts are of about the same size', (t) => {
  const names = Array.from({ length: 40 }, (_, i) => `f${i}`);
  const files = Object.fromEntries(names.map((name) => [`${name}.c`, `${' '.repeat(5_000)}\n`]));
  const Kbuild = `obj-m := mine.o\nmine-y := ${names.map((name) => `${name}.o`).join(' ')}\n`;
  const parts = Object.entries(join({ Kbuild, ...files })).filter(([path]) => path !== 'Kbuild');
  t.ok(parts.length > 2 && parts.length < 10, `${parts.length} parts`);
  const counts = parts.map(([, text]) => text.trim().split('\n').length);
  t.ok(Math.max(...counts) - Math.min(...counts) <= 1, counts.join(' '));
  const order = parts.flatMap(([, text]) => Array.from(text.matchAll(/"(\w+)\.c"/g), ([, name]) => name));
  t.same(order, names);
  t.end();
});

t.test('every file of our modules is in one part', (t) => {
  for (const name of ['driver', 'driver/ib', 'kernel', 'verbs', 'traffic', 'interrupts', 'tenant']) {
    const directory = fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url));
    const listed = readFileSync(`${directory}/Kbuild`, 'utf8').match(/\b\w+(?=\.o\b)/g) ?? [];
    for (const isNested of [false, true]) {
      const { files } = joinSources(readSources(directory), isNested);
      const parts = files.filter(({ path }) => /_part\d+\.c$/.test(path));
      const included = parts.flatMap(({ content }) => content.toString().match(/(?<=")\w+(?=\.c")/g) ?? []);
      if (isNested) t.same(included.sort(), listed.slice(1).sort(), `${name}, nested`);
      else t.same(included, listed.slice(1), name);
      t.ok(parts.length > 0 && parts.length <= (isNested ? listed.length : Math.ceil(included.length / 2)), name);
    }
  }
  t.end();
});

// A compiler that reads both files at once would not refuse it.
t.test('no file of our drivers uses a static function of another', (t) => {
  for (const name of ['driver', 'driver/ib']) {
    const { files } = readSources(fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url)));
    const texts = files.filter(({ path }) => path.endsWith('.c')).map(({ content }) => content.toString());
    const headers = files.filter(({ path }) => path.endsWith('.h')).map(({ content }) => content.toString());
    const own = texts.map(
      (text) => new Set(Array.from(text.matchAll(/^static [^;={]*?\b(\w+)\(/gm), ([, word]) => word)),
    );
    const all = own.flatMap((names) => [...names]).filter((word) => !headers.some((text) => text.includes(`${word}(`)));
    t.ok(all.length > 100, `${all.length} functions`);
    const used = texts.flatMap((text, i) => {
      const words = new Set(text.replace(/\/\*.*?\*\//gs, '').match(/(?<!struct )\b\w+\b/g));
      return all.filter((word) => words.has(word as string) && !own[i]?.has(word));
    });
    t.same(used, [], name);
  }
  t.end();
});
