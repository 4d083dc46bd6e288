// SPDX-License-Identifier: Apache-2.0
/**
 * What a test compiles: the folders of its modules, and our driver only where one of them uses it.
 * The kernel here compiles nothing; it notes what it is asked for.
 */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { ModuleBuildError } from '../../../qemu/setup/compiler-messages.ts';
import { type ModuleTarget, provideTargets, type TestKernel } from './test-modules.ts';

const KBUILD = 'obj-m := mine.o\n';
const OURS = new Set(['driver', 'vuhca']);

class Kernel implements TestKernel {
  readonly imagePath = '';
  readonly bootModules = [];
  readonly isForeign = false;
  /** Names of the folders of each call. */
  readonly calls: string[][] = [];
  readonly #folder: string;
  readonly #missing: string;

  /** `missing`: a folder of that name does not link without our driver. */
  constructor(folder: string, missing = '') {
    this.#folder = folder;
    this.#missing = missing;
  }

  async build(folders: readonly string[]) {
    const names = folders.map((folder) => basename(folder));
    if (folders.length > 0) this.calls.push(names);
    const last = folders.at(-1) ?? '';
    if (names.at(-1) === this.#missing && !names.includes('driver'))
      throw new ModuleBuildError(last, '6.12', 'ERROR: modpost: "vuhca_find" [mine.ko] undefined!');
    return names.map((name) => (name === 'driver' ? this.#module('vuhca') : this.#module(name)));
  }

  async stock(name: string) {
    return [this.#module(name)];
  }

  checkFile(): void {}

  #module(name: string) {
    const path = join(this.#folder, `${name}.ko`);
    writeFileSync(path, OURS.has(name) ? 'alias=pci:v00001AF4d000010F5sv*\0' : '');
    return { name, path };
  }
}

function folderWith(t: Test, source: string): string {
  return t.testdir({
    mine: { Kbuild: KBUILD, 'mine.c': source },
    'uses.ko': 'depends=vuhca\0',
    'plain.ko': 'depends=\0',
  });
}

async function load(kernel: Kernel, ...targets: readonly ModuleTarget[]): Promise<string[]> {
  return (await provideTargets(targets, kernel)).map(({ name }) => name);
}

t.test('a module that uses nothing of ours is compiled alone', async (t) => {
  const folder = folderWith(t, '#include <linux/module.h>\n/* #include of vuhca.h would need it */\n');
  const kernel = new Kernel(folder);
  t.same(await load(kernel, { option: 'FOLDER', path: join(folder, 'mine') }), ['mine']);
  t.same(kernel.calls, [['mine']]);
});

t.test('a module with a header of ours, in each form, comes behind the driver', async (t) => {
  for (const line of ['#include "vuhca.h"', '# include <vuhca_cq.h>', '\t#include "../driver/vuhca_hw.h"']) {
    const folder = folderWith(t, `#include <linux/module.h>\n${line}\n`);
    const kernel = new Kernel(folder);
    await load(kernel, { option: '--module', path: join(folder, 'mine') });
    t.same(kernel.calls, [['driver'], ['driver', 'mine']], line);
  }
});

t.test('a header of its own with such a name is its own', async (t) => {
  const folder = t.testdir({ mine: { Kbuild: KBUILD, 'mine.c': '#include "vuhca.h"\n', 'vuhca.h': '' } });
  const kernel = new Kernel(folder);
  await load(kernel, { option: '--module', path: join(folder, 'mine') });
  t.same(kernel.calls, [['mine']]);
});

t.test('a module that uses a symbol of ours without a header', async (t) => {
  const folder = folderWith(t, 'extern int vuhca_find(void);\n');
  const kernel = new Kernel(folder, 'mine');
  t.same(await load(kernel, { option: '--module', path: join(folder, 'mine') }), ['mine']);
  t.same(kernel.calls, [['mine'], ['driver'], ['driver', 'mine']]);
  const broken = new Kernel(folder, 'mine');
  broken.build = async () => {
    throw new ModuleBuildError('mine', '6.12', 'mine.c:1: error: expected ;');
  };
  await t.rejects(load(broken, { option: '--module', path: join(folder, 'mine') }), { name: 'ModuleBuildError' });
});

t.test('files: the driver for those that depend on it', async (t) => {
  const folder = folderWith(t, '');
  const kernel = new Kernel(folder);
  t.same(await load(kernel, { option: '--module', path: join(folder, 'plain.ko') }), ['plain']);
  t.same(kernel.calls, []);
  t.same(await load(kernel, { option: '--module', path: join(folder, 'uses.ko') }), ['vuhca', 'uses']);
  t.same(kernel.calls, [['driver']]);
});

t.test('the driver by its name', async (t) => {
  const kernel = new Kernel(folderWith(t, ''));
  t.same(await load(kernel, { option: '--driver', path: 'vuhca' }), ['vuhca']);
  t.same(kernel.calls, [['driver']]);
});
