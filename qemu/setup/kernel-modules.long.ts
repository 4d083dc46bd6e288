// SPDX-License-Identifier: Apache-2.0
/**
 * The modules that are compiled, when, and what is said about it, with a make that compiles
 * nothing. module-build.long.ts has the kernel's make.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { cacheRoot } from './cache.ts';
import { buildKernelModules, buildModuleFolders } from './kernel-modules.ts';
import { withLock } from './lock.ts';
import { FakeToolchain } from './testing/fake-toolchain.ts';

const LOW = { Kbuild: 'obj-m := low.o\n', 'low.h': '#define LOW 1\n', 'low.c': 'EXPORT_SYMBOL(low_get);\n' };
const READS = { Kbuild: 'obj-m := reads.o\n', 'reads.c': '#include <low.h>\n' };
const LINKS = { Kbuild: 'obj-m := links.o\n', 'links.c': '#include <low.h>\nlow_get();\n' };
const ALONE = { Kbuild: 'obj-m := alone.o\n', 'alone.c': '\n' };

// A busy machine starts programs slowly.
t.setTimeout(0);

interface Place {
  readonly folder: string;
  readonly toolchain: FakeToolchain;
  /** The path of a source folder. */
  at(name: string): string;
}

/** Source folders, an empty cache, and a toolchain. */
function prepare(t: Test, folders: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): Place {
  const folder = t.testdir({ low: LOW, reads: READS, links: LINKS, alone: ALONE, cache: {}, ...folders });
  process.env.XDG_CACHE_HOME = join(folder, 'cache');
  return { folder, toolchain: new FakeToolchain(folder), at: (name) => join(folder, name) };
}

/** What is said on standard error while `work` runs; times are written as `N s`. */
async function listen(work: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = ((text: string) =>
    lines.push(text.trimEnd().replace(/\d+\.\d s\b/g, 'N s')) > 0) as typeof write;
  try {
    await work();
  } finally {
    process.stderr.write = write;
  }
  return lines;
}

/** The build folder of the sources called `name`. */
function buildFolder(name: string): string {
  const builds = join(cacheRoot(), 'builds');
  const found = readdirSync(builds).find((build) => existsSync(join(builds, build, 'source', name, 'Kbuild')));
  return join(builds, found as string);
}

/** Makes the record of the last compile say that it took long, so that the next one is told. */
function lengthen(name: string): void {
  const path = join(buildFolder(name), 'build.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), lastMs: 3_000, wholeMs: 9_000 }));
}

t.test('a module is compiled without those of which it uses no symbol', async (t) => {
  const { toolchain, at } = prepare(t);
  const options = { toolchain, mayUse: [at('low')] };
  t.same(
    (await buildKernelModules([at('reads')], options)).map(({ name }) => name),
    ['reads'],
  );
  t.same(toolchain.takeCalls(), ['reads'], 'only its header is used');
  await buildKernelModules([at('alone')], options);
  t.same(toolchain.takeCalls(), ['alone']);
  t.same(
    (await buildKernelModules([at('links')], options)).map(({ name }) => name),
    ['links'],
  );
  t.same(toolchain.takeCalls(), ['low', 'links low_get'], 'its symbol is used');
  await buildKernelModules([at('low'), at('reads'), at('links'), at('alone')], options);
  t.same(toolchain.takeCalls(), [], 'all are in the cache');
});

t.test('a change compiles what uses it, and nothing else', async (t) => {
  const { toolchain, at } = prepare(t);
  const all = ['low', 'reads', 'links', 'alone'].map(at);
  await buildKernelModules(all, { toolchain });
  const change = async (path: string, text: string): Promise<string[]> => {
    toolchain.takeCalls();
    writeFileSync(at(path), text);
    await buildKernelModules(all, { toolchain });
    return toolchain
      .takeCalls()
      .map((call) => call.split(' ')[0] as string)
      .sort();
  };
  t.same(await change('low/low.h', '#define LOW 2\n'), ['links', 'low', 'reads']);
  t.same(await change('low/other.h', '#define OTHER 2\n'), ['low'], 'a header that the others do not include');
  t.same(await change('low/low.c', 'EXPORT_SYMBOL(low_get);\nint x;\n'), ['low'], 'the same interface');
  t.same(await change('low/low.c', 'EXPORT_SYMBOL(low_get);\nEXPORT_SYMBOL(low_set);\n'), ['links', 'low']);
  t.same(await change('alone/alone.c', 'int y;\n'), ['alone']);
});

t.test('modules that do not wait for each other are compiled at the same time', async (t) => {
  const { folder, toolchain, at } = prepare(t);
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Each make waits for the other one.
  writeFileSync(at('alone/make.inc'), `echo >${fifo}\n`);
  writeFileSync(at('reads/make.inc'), `read -r line <${fifo}\n`);
  await buildKernelModules(['low', 'alone', 'reads'].map(at), { toolchain });
  t.same(toolchain.takeCalls().sort(), ['alone', 'low', 'reads']);
});

t.test('a symbol that the text does not show is found by the linker', async (t) => {
  const undefined_ = 'echo \'ERROR: modpost: "low_made" [mine.ko] undefined!\'; exit 2\n';
  const { toolchain, at } = prepare(t, {
    hidden: { Kbuild: 'obj-m := hidden.o\n', 'hidden.c': 'GIVE(low_made)\n' },
    mine: {
      Kbuild: 'obj-m := mine.o\n',
      'mine.c': 'low_made();\n',
      'make.inc': `[ -n "$extra" ] || { ${undefined_} }\n`,
    },
    wrong: { Kbuild: 'obj-m := wrong.o\n', 'wrong.c': '', 'make.inc': undefined_.replace('low_made', 'low_mad') },
  });
  await buildKernelModules([at('alone'), at('hidden'), at('mine')], { toolchain });
  t.same(toolchain.takeCalls().sort(), ['alone', 'hidden', 'mine', 'mine'], 'linked again');
  const wrong = buildKernelModules([at('wrong')], { toolchain, mayUse: [at('low')] });
  await t.rejects(wrong, { name: 'ModuleBuildError', message: /low_mad/ });
  t.same(toolchain.takeCalls(), ['wrong'], 'nobody has it: nothing else is compiled');
});

t.test('the modules of each folder; the others end when one fails', async (t) => {
  const { toolchain, at } = prepare(t, {
    bad: { Kbuild: 'obj-m := bad.o\n', 'bad.c': '', 'make.inc': 'echo "bad.c:1: error: no"; exit 2\n' },
    two: { Kbuild: 'obj-m := one.o two.o\n', 'one.c': '' },
  });
  const built = await buildModuleFolders([at('two'), at('alone')], { toolchain });
  t.same(
    built.map((modules) => modules.map(({ name }) => name)),
    [['one', 'two'], ['alone']],
  );
  await t.rejects(buildKernelModules([at('bad'), at('reads')], { toolchain }), { message: /bad\.c:1: error/ });
  toolchain.takeCalls();
  await buildKernelModules([at('reads')], { toolchain });
  t.same(toolchain.takeCalls(), [], 'the other one is whole');
});

t.test('files of this project are compiled together, and those of others are not', async (t) => {
  const list = { Kbuild: 'obj-m := mine.o\nmine-y := a.o b.o\n', 'a.c': 'int a;\n', 'b.c': 'int b;\n' };
  const { toolchain, at } = prepare(t, { mine: list });
  const parts = (): boolean => existsSync(join(buildFolder('mine'), 'source/mine/mine_part1.c'));
  await buildKernelModules([at('mine')], { toolchain });
  t.notOk(parts());
  rmSync(buildFolder('mine'), { recursive: true });
  await buildKernelModules([at('mine')], { toolchain, strict: () => true });
  t.ok(parts());
  rmSync(buildFolder('mine'), { recursive: true });
  await buildKernelModules([at('mine')], { toolchain, strict: () => true, joined: false });
  t.notOk(parts());
});

t.test('what is said: what is compiled, why, and how long it took', async (t) => {
  const driver = { Kbuild: 'obj-m := mine.o\n', 'mine.c': '#include <low.h>\nmodule_pci_driver(mine);\nlow_get();\n' };
  const { folder, toolchain, at } = prepare(t, { mine: driver });
  const build = (chain = toolchain) =>
    listen(() => buildKernelModules([at('mine')], { toolchain: chain, mayUse: [at('low')] }));
  const said = async (why: string, earlier = 'took N s last time', release = '6.12'): Promise<void> => {
    const what = `set-up: compiling the driver mine.ko for the kernel ${release}`;
    const lines = (await build(release === '6.12' ? toolchain : new FakeToolchain(folder, release))).filter((line) =>
      line.includes('mine.ko'),
    );
    // A slow machine tells more in between.
    t.same([lines[0], lines.at(-1)], [`${what}, because ${why}; it ${earlier} ...`, `${what}: done in N s`], why);
    lengthen('mine');
  };
  await build();
  lengthen('mine');
  t.same(await build(), [], 'nothing to do');
  writeFileSync(at('mine/mine.c'), `${driver['mine.c']}int x;\n`);
  await said('mine.c has changed');
  writeFileSync(at('low/low.h'), '#define LOW 3\n');
  writeFileSync(at('mine/new.c'), '');
  await said('new.c and another file have changed');
  writeFileSync(at('low/low.c'), 'EXPORT_SYMBOL(low_get);\nEXPORT_SYMBOL(low_set);\n');
  await said('the interface of low has changed');
  writeFileSync(join(buildFolder('mine'), 'unfinished'), '');
  rmSync(join(cacheRoot(), 'artifacts'), { recursive: true });
  await said('its last compile was interrupted');
  rmSync(join(cacheRoot(), 'artifacts'), { recursive: true });
  await said('the cache no longer has the result');
  await said('it was not compiled for this kernel before', 'took N s for the kernel 6.12', '7.3');
});

t.test('a process that waits for a compile names it', async (t) => {
  const { folder, toolchain, at } = prepare(t);
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  writeFileSync(at('alone/make.inc'), `read -r line <${fifo}\n`);
  let isTold: () => void;
  const told = new Promise<void>((done) => {
    isTold = done;
  });
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = ((text: string) => {
    lines.push(text);
    if (text.includes('waiting')) isTold();
    return true;
  }) as typeof write;
  t.teardown(() => {
    process.stderr.write = write;
  });
  const both = [1, 2].map(() => buildKernelModules([at('alone')], { toolchain }));
  await told;
  writeFileSync(fifo, '\n');
  const [one, two] = await Promise.all(both);
  process.stderr.write = write;
  t.same(one, two);
  t.same(toolchain.takeCalls(), ['alone'], 'one compile');
  t.match(
    lines.find((line) => line.includes('waiting')),
    new RegExp(`waiting for process ${process.pid}, which is compiling the module alone\\.ko for the kernel 6\\.12 `),
  );
});

t.test('what a killed compile left is made anew, when its compilers have ended', async (t) => {
  const { toolchain, at } = prepare(t);
  await buildKernelModules([at('alone')], { toolchain });
  const folder = buildFolder('alone');
  const object = join(folder, 'source/alone/alone.ko');
  writeFileSync(object, 'cut short');
  writeFileSync(join(folder, 'source/alone/stale.o'), 'cut short');
  writeFileSync(join(folder, 'unfinished'), '');
  const artifacts = join(cacheRoot(), 'artifacts');
  const [artifact] = readdirSync(artifacts) as [string];
  rmSync(join(artifacts, artifact), { recursive: true });
  mkdirSync(join(artifacts, `${artifact}.tmp`));
  writeFileSync(join(artifacts, `${artifact}.tmp`, 'modules.json'), '["al');
  toolchain.takeCalls();
  const lock = join(cacheRoot(), 'locks', `compilers-${folder.slice(-16)}.lock`);
  const [building] = await withLock(lock, async () => {
    const build = buildKernelModules([at('alone')], { toolchain });
    // The next lock of the build is free only when it has come to the lock that is held here.
    await withLock(join(cacheRoot(), 'locks', 'other.lock'), async () => {});
    t.equal(readFileSync(object, 'utf8'), 'cut short', 'a compiler may still write there');
    t.same(toolchain.takeCalls(), []);
    return [build];
  });
  t.equal((await building).length, 1);
  t.same(toolchain.takeCalls(), ['alone']);
  t.notOk(existsSync(join(folder, 'source/alone/stale.o')));
  t.notOk(existsSync(join(folder, 'unfinished')));
  t.same(readdirSync(artifacts), [artifact]);
});

t.test('a process that is killed in the middle leaves nothing half done', async (t) => {
  const { folder, toolchain, at } = prepare(t);
  writeFileSync(at('alone/make.inc'), `mkfifo ${folder}/fifo; echo begun; read -r line <${folder}/fifo\n`);
  const build = `import { buildKernelModules } from '${new URL('kernel-modules.ts', import.meta.url)}';
    await buildKernelModules(['${at('alone')}'], { toolchain: ${JSON.stringify(toolchain)} });`;
  const words = ['--import=#typescript', '--input-type=module', '-e', build];
  const child = spawn(process.execPath, words, {
    stdio: 'inherit',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });
  // Its make opens the FIFO when it has begun.
  while (!existsSync(join(folder, 'fifo'))) await turn(10);
  child.kill('SIGKILL');
  await once(child, 'exit');
  rmSync(at('alone/make.inc'));
  t.ok(existsSync(join(buildFolder('alone'), 'unfinished')));
  t.equal((await buildKernelModules([at('alone')], { toolchain })).length, 1);
  t.notOk(existsSync(join(buildFolder('alone'), 'unfinished')));
  t.notOk(readdirSync(join(cacheRoot(), 'artifacts')).some((name) => name.includes('.tmp')));
});

t.test('builds that were not used for long are removed', async (t) => {
  const { toolchain, at } = prepare(t);
  await buildKernelModules([at('alone')], { toolchain });
  const builds = join(cacheRoot(), 'builds');
  const [mine] = readdirSync(builds) as [string];
  for (let i = 0; i < 30; i++) {
    const old = join(builds, `module-${String(i).padStart(16, '0')}`);
    mkdirSync(old);
    utimesSync(old, 1000 + i, 1000 + i);
  }
  writeFileSync(at('alone/alone.c'), 'int x;\n');
  await buildKernelModules([at('alone')], { toolchain });
  const left = readdirSync(builds);
  t.equal(left.length, 24);
  t.ok(left.includes(mine));
  t.ok(left.includes('module-0000000000000029'), 'the newest of the old ones');
});

t.test('compilers hold a lock as long as they run', async (t) => {
  const { folder, toolchain, at } = prepare(t);
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // The compiler goes on when make has ended, as one of a killed make does.
  writeFileSync(at('alone/make.inc'), `sh -c 'read -r line <${fifo}; : >${folder}/ended' >/dev/null 2>&1 &\n`);
  await buildKernelModules([at('alone')], { toolchain });
  const lock = join(cacheRoot(), 'locks', `compilers-${buildFolder('alone').slice(-16)}.lock`);
  const held = withLock(lock, async () => t.ok(existsSync(join(folder, 'ended')), 'it has ended before'));
  writeFileSync(fifo, '\n');
  await held;
});
