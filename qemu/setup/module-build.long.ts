// SPDX-License-Identifier: Apache-2.0
/**
 * Modules are compiled where they were compiled before: make compiles again only what has changed,
 * an unchanged module is not built at all, and another module's exported symbols and headers are
 * found. The kernel and the compiler come from the machine's cache, the builds lie in one of their
 * own.
 */
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { cacheRoot } from './cache.ts';
import { ModuleBuildError } from './compiler-messages.ts';
import { readModuleDependencies } from './guest-kernel.ts';
import { buildKernelModules } from './kernel-modules.ts';
import { type KernelToolchain, provideKernelToolchain } from './kernel-toolchain.ts';

const LICENSE = 'MODULE_LICENSE("Dual BSD/GPL");\nMODULE_DESCRIPTION("test");\n';
const GIVER = {
  Kbuild: 'obj-m := giver.o\ngiver-y := one.o two.o\n',
  'giver.h': '#define GIVEN 42\nint giver_answer(void);\nint giver_two(void);\n',
  'one.c': `#include <linux/module.h>
#include "giver.h"
int giver_answer(void) { return GIVEN + giver_two(); }
EXPORT_SYMBOL_GPL(giver_answer);
${LICENSE}`,
  'two.c': '#include "giver.h"\nint giver_two(void) { return 2; }\n',
};
const TAKER = {
  Makefile: 'obj-m := taker.o\n',
  'taker.c': `#include <linux/module.h>
#include <giver.h>
#include "../giver/giver.h"
static int __init taker_init(void) { return giver_answer() == GIVEN; }
module_init(taker_init);
${LICENSE}`,
};

let toolchain: KernelToolchain;

// A busy machine compiles slowly.
t.setTimeout(0);

t.before(async () => {
  toolchain = await provideKernelToolchain();
});

/** Two modules in a folder, and an empty cache. */
function prepare(t: Test): { giver: string; taker: string } {
  const directory = t.testdir({ giver: GIVER, taker: TAKER, cache: {} });
  process.env.XDG_CACHE_HOME = join(directory, 'cache');
  return { giver: join(directory, 'giver'), taker: join(directory, 'taker') };
}

/** The copy of the folder called `name` in the only build folder that has one. */
function buildFolder(name: string): string {
  const builds = join(cacheRoot(), 'builds');
  const copies = readdirSync(builds).map((build) => join(builds, build, 'source', name));
  return copies.find((copy) => existsSync(join(copy, 'Module.symvers'))) as string;
}

/** When each object file in `folder` was written. */
function times(folder: string): Record<string, number> {
  const objects = readdirSync(folder).filter((name) => /^(one|two|taker)\.o$/.test(name));
  return Object.fromEntries(objects.map((name) => [name, statSync(join(folder, name)).mtimeMs]));
}

t.test('a change compiles only what it concerns', async (t) => {
  const { giver, taker } = prepare(t);
  const first = await buildKernelModules([giver, taker], { toolchain });
  t.same(
    first.map(({ name }) => name),
    ['giver', 'taker'],
  );
  t.ok(first.every(({ path, debugPath }) => statSync(path).size < statSync(debugPath).size));
  t.same(readModuleDependencies(first[1]?.path as string), ['giver']);
  t.same(await buildKernelModules([giver, taker], { toolchain }), first, 'an unchanged module is not built');

  const folder = buildFolder('giver');
  const before = times(folder);
  writeFileSync(join(giver, 'two.c'), GIVER['two.c'].replace('2', '3'));
  utimesSync(join(giver, 'two.c'), 1, 1);
  const second = await buildKernelModules([giver, taker], { toolchain });
  const after = times(folder);
  t.equal(after['one.o'], before['one.o'], 'the other file is not compiled again');
  t.ok((after['two.o'] as number) > (before['two.o'] as number), 'an old time of the changed file does not hide it');
  t.not(second[0]?.path, first[0]?.path);
  t.ok(existsSync(first[0]?.path as string), 'the earlier version stays for its users');
  t.same(second[1], first[1], 'what another module uses has not changed');

  writeFileSync(join(giver, 'two.c'), GIVER['two.c']);
  t.same(await buildKernelModules([giver, taker], { toolchain }), first, 'the first version again');
});

t.test('a module that does not compile', async (t) => {
  const { giver, taker } = prepare(t);
  writeFileSync(join(giver, 'two.c'), '#include "giver.h"\nint giver_two(void)\n{ int x; return giver_tow(); }\n');
  const error = await buildKernelModules([giver], { toolchain }).catch((error: unknown) => error);
  t.ok(error instanceof ModuleBuildError);
  const { message, messages, directory } = error as ModuleBuildError;
  t.match(
    message,
    /^the kernel modules of \S+giver do not compile for Linux \S+; correct what the compiler reports:\n/,
  );
  t.match(messages.split('\n').slice(0, 2), [/giver\/two\.c: In function/, /giver\/two\.c:3:\d+: error: .*giver_tow/]);
  t.equal(directory, giver);
  writeFileSync(join(giver, 'two.c'), '#include "giver.h"\nint giver_two(void) { int unused; return 2; }\n');
  t.equal((await buildKernelModules([giver], { toolchain })).length, 1, 'warnings are accepted');
  await t.rejects(buildKernelModules([taker], { toolchain }), { name: 'ModuleBuildError', message: /giver\.h/ });
});

t.test('files that are compiled together keep their own names', async (t) => {
  const { giver } = prepare(t);
  const own =
    'struct own { int a; };\n#define OWN 1\nstatic DEFINE_MUTEX(lock);\nstatic struct own same = { .a = OWN };\n';
  const use = (name: string): string =>
    `#include <linux/mutex.h>\n#include "giver.h"\n${own}int ${name}(void) { mutex_lock(&lock); return same.a; }\n`;
  writeFileSync(join(giver, 'two.c'), use('giver_two'));
  writeFileSync(join(giver, 'one.c'), `${GIVER['one.c']}${use('giver_three')}`);
  const joined = { toolchain, strict: () => true };
  const missing = buildKernelModules([giver], joined);
  await t.rejects(missing, { message: /giver\/one\.c:\d+:\d+: error: no previous prototype.*giver_three/ });
  writeFileSync(join(giver, 'giver.h'), `${GIVER['giver.h']}int giver_three(void);\n`);
  t.equal((await buildKernelModules([giver], joined)).length, 1);
  const objects = readdirSync(join(buildFolder('giver')));
  t.ok(objects.includes('giver_part1.o') && !objects.includes('two.o'));
});

t.test('each file of our drivers includes all that it needs', async (t) => {
  delete process.env.XDG_CACHE_HOME;
  const drivers = ['driver', 'driver/ib'];
  const names = process.env.VUHCA_LARGE ? [...drivers, 'kernel', 'verbs', 'traffic', 'interrupts', 'tenant'] : drivers;
  const folders = names.map((name) => fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url)));
  const joined = process.env.VUHCA_LARGE ? false : 'nested';
  t.equal((await buildKernelModules(folders, { toolchain, joined })).length, names.length);
});

t.test('folders without a module', async (t) => {
  const directory = t.testdir({
    empty: {},
    silent: { Makefile: 'all:\n' },
    a: { mine: { ...GIVER } },
    b: { mine: { ...GIVER } },
  });
  const reject = (message: RegExp, ...names: string[]) =>
    t.rejects(
      buildKernelModules(
        names.map((name) => join(directory, name)),
        { toolchain },
      ),
      { name: 'SetupError', message },
    );
  await reject(/there is no folder .*none/, 'none');
  await reject(/empty names no module; write a file Kbuild there, for instance: obj-m := empty\.o/, 'empty');
  await reject(/silent names no module/, 'silent');
  await reject(/two folders of modules are called mine/, 'a/mine', 'b/mine');
});
