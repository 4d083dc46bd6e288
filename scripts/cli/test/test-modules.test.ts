// SPDX-License-Identifier: Apache-2.0
/**
 * Modules that a test compiles and loads: the folders of its modules, and our driver only where one
 * of them depends on it. The kernel here compiles nothing, and records the requests.
 */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { type ModuleTarget, provideTargets, type TestKernel } from './test-modules.ts';

const KBUILD = 'obj-m := mine.o\n';

class Kernel implements TestKernel {
  readonly imagePath = '';
  readonly bootModules = [];
  readonly isForeign = false;
  /** Names of the folders of each call. */
  readonly calls: string[][] = [];
  readonly #folder: string;
  readonly #depends: Readonly<Record<string, string>>;

  /** `depends`: what compiled modules depend on, by name. */
  constructor(folder: string, depends: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#depends = depends;
  }

  async build(folders: readonly string[]) {
    const names = folders.map((folder) => basename(folder));
    if (folders.length > 0) this.calls.push(names);
    return names.map((name) => [this.#module(name === 'driver' ? 'vuhca' : name)]);
  }

  async stock(...names: string[]) {
    return names.map((name) => this.#module(name));
  }

  checkFile(): void {}

  #module(name: string) {
    const path = join(this.#folder, `${name}.ko`);
    const alias = name === 'vuhca' ? 'alias=pci:v00001AF4d000010F5sv*\0' : '';
    writeFileSync(path, `${alias}depends=${this.#depends[name] ?? ''}\0`);
    return { name, path };
  }
}

function foldersOf(t: Test): string {
  return t.testdir({
    mine: { Kbuild: KBUILD },
    other: { Kbuild: KBUILD },
    'uses.ko': 'depends=vuhca\0',
    'plain.ko': 'depends=\0',
  });
}

function moduleAt(...path: readonly string[]): ModuleTarget {
  return { option: '--module', path: join(...path) };
}

async function load(kernel: Kernel, ...targets: readonly ModuleTarget[]): Promise<string[]> {
  return (await provideTargets(targets, kernel)).map(({ name }) => name);
}

t.test('a module that depends on nothing of ours is loaded alone', async (t) => {
  const folder = foldersOf(t);
  const kernel = new Kernel(folder);
  t.same(await load(kernel, moduleAt(folder, 'mine')), ['mine']);
  t.same(kernel.calls, [['mine']]);
});

t.test('a module that depends on our driver is loaded behind it', async (t) => {
  const folder = foldersOf(t);
  const kernel = new Kernel(folder, { mine: 'ib_core,vuhca' });
  t.same(await load(kernel, moduleAt(folder, 'mine')), ['ib_core', 'vuhca', 'mine']);
  t.same(kernel.calls, [['mine'], ['driver']]);
});

t.test('a module that depends on a module that is given is loaded behind that one', async (t) => {
  const folder = foldersOf(t);
  const kernel = new Kernel(folder, { mine: 'other' });
  t.same(await load(kernel, moduleAt(folder, 'mine'), moduleAt(folder, 'other')), ['other', 'mine']);
  t.same(kernel.calls, [['mine', 'other']], 'both are compiled by one call');
  t.same(await load(kernel, moduleAt(folder, 'other'), moduleAt(folder, 'other')), ['other'], 'given twice');
});

t.test('files: the driver for those that depend on it', async (t) => {
  const folder = foldersOf(t);
  const kernel = new Kernel(folder);
  t.same(await load(kernel, moduleAt(folder, 'plain.ko')), ['plain']);
  t.same(kernel.calls, []);
  t.same(await load(kernel, moduleAt(folder, 'uses.ko')), ['vuhca', 'uses']);
  t.same(kernel.calls, [['driver']]);
});

t.test('the driver by its name', async (t) => {
  const kernel = new Kernel(foldersOf(t));
  t.same(await load(kernel, { option: '--driver', path: 'vuhca' }), ['vuhca']);
  t.same(kernel.calls, [['driver']]);
});
