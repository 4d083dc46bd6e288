// SPDX-License-Identifier: Apache-2.0
/**
 * Modules compiled here load in the stock kernel, one of them with a symbol that another exports; a
 * compiler warning is an error that quotes it.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import { buildInitramfs } from './initramfs.ts';
import { launchGuest } from './launch.ts';
import { readModuleDependencies } from './setup/guest-kernel.ts';
import { buildKernelModules } from './setup/kernel-modules.ts';

/** Compilation and guests on a busy machine included. */
const BOUND_MS = 1_800_000;
const LICENSE = 'MODULE_LICENSE("Dual BSD/GPL");\nMODULE_DESCRIPTION("test");\n';

/** Two source folders; `body` is put into a function of the first. */
function sources(body: string): Record<string, Record<string, string>> {
  return {
    giver: {
      Kbuild: 'obj-m := vuhca-giver.o\n',
      'giver.h': 'int vuhca_test_answer(void);\n',
      'vuhca-giver.c': `#include <linux/module.h>
#include "giver.h"
int vuhca_test_answer(void) { ${body} return 42; }
EXPORT_SYMBOL_GPL(vuhca_test_answer);
${LICENSE}`,
    },
    taker: {
      Kbuild: 'obj-m := vuhca_taker.o\n',
      'vuhca_taker.c': `#include <linux/module.h>
#include "../giver/giver.h"
static int value;
module_param(value, int, 0444);
static int __init taker_init(void) { pr_info("answer %d value %d\\n", vuhca_test_answer(), value); return 0; }
static void __exit taker_exit(void) { }
module_init(taker_init);
module_exit(taker_exit);
${LICENSE}`,
    },
  };
}

t.setTimeout(BOUND_MS);

t.test('our modules load in the guest', { timeout: BOUND_MS }, async (t) => {
  const directory = t.testdir(sources(''));
  const modules = await buildKernelModules([`${directory}/giver`, `${directory}/taker`]);
  t.same(
    modules.map(({ name }) => name),
    ['vuhca_giver', 'vuhca_taker'],
  );
  t.ok(modules.every(({ path, debugPath }) => existsSync(path) && existsSync(debugPath)));
  t.same(readModuleDependencies(modules[1]?.path as string), ['vuhca-giver']);
  t.same(await buildKernelModules([`${directory}/giver`, `${directory}/taker`]), modules, 'cached');
  const loading = modules.map((module) => ({ ...module, parameters: module.name === 'vuhca_taker' ? 'value=7' : '' }));
  const caseScript = '#!/bin/sh\ndmesg | grep answer\n';
  const guest = await launchGuest({ initramfs: await buildInitramfs({ modules: loading, caseScript }) });
  const report: string[] = [];
  guest.port().onLine((line) => report.push(line));
  t.match(await guest.whenExited, { status: 0 });
  t.match(report, [/@vuhca init/, /answer 42 value 7$/, '@vuhca exit 0']);
});

t.test('a warning is an error that quotes the compiler', { timeout: BOUND_MS }, async (t) => {
  const directory = t.testdir(sources('int unused;'));
  await t.rejects(buildKernelModules([`${directory}/giver`], { strict: () => true }), {
    name: 'ModuleBuildError',
    message: /do not compile.*\n\S+\/giver\/vuhca-giver\.c: .*\n\S+\/giver\/vuhca-giver\.c:3:.*unused variable/,
  });
});

t.test('a module that does not load is reported and the case does not run', { timeout: BOUND_MS }, async (t) => {
  const directory = t.testdir(sources(''));
  const modules = await buildKernelModules([`${directory}/giver`, `${directory}/taker`]);
  const initramfs = await buildInitramfs({ modules: modules.slice(1), caseScript: '#!/bin/sh\necho ran\n' });
  const guest = await launchGuest({ initramfs });
  const report: string[] = [];
  guest.port().onLine((line) => report.push(line));
  await guest.whenExited;
  t.match(report, [/@vuhca init/, /@vuhca module vuhca_taker failed: .+/, '@vuhca exit 125']);
});
