// SPDX-License-Identifier: Apache-2.0
/**
 * Modules compiled here load in the stock kernel, one of them with a symbol that another exports.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import { buildInitramfs } from './initramfs.ts';
import { launchGuest } from './launch.ts';
import { readModuleDependencies } from './setup/guest-kernel.ts';
import { type BuiltKernelModule, buildKernelModules } from './setup/kernel-modules.ts';

/** Compilation and guests on a busy machine included. */
const BOUND_MS = 1_800_000;
const LICENSE = 'MODULE_LICENSE("Dual BSD/GPL");\nMODULE_DESCRIPTION("test");\n';

/** Two source folders. */
const SOURCES = {
  giver: {
    Kbuild: 'obj-m := vuhca-giver.o\n',
    'giver.h': 'int vuhca_test_answer(void);\n',
    'vuhca-giver.c': `#include <linux/module.h>
#include "giver.h"
int vuhca_test_answer(void) { return 42; }
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

t.setTimeout(BOUND_MS);

t.test('our modules load in the guest; one that does not is reported', { timeout: BOUND_MS }, async (t) => {
  const directory = t.testdir(SOURCES);
  const modules = await buildKernelModules([`${directory}/giver`, `${directory}/taker`]);
  t.same(
    modules.map(({ name }) => name),
    ['vuhca_giver', 'vuhca_taker'],
  );
  t.ok(modules.every(({ path, debugPath }) => existsSync(path) && existsSync(debugPath)));
  const [, taker] = modules as [BuiltKernelModule, BuiltKernelModule];
  t.same(readModuleDependencies(taker.path), ['vuhca-giver']);
  t.same(await buildKernelModules([`${directory}/giver`, `${directory}/taker`]), modules, 'cached');
  // The kernel does not load a module twice.
  const loading = [modules[0], { ...taker, parameters: 'value=7' }, { ...taker, name: 'taken' }];
  const initramfs = await buildInitramfs({ modules: loading, caseScript: '#!/bin/sh\necho ran\n' });
  const log: string[] = [];
  const guest = await launchGuest({ initramfs, onKernelLine: (line) => log.push(line) });
  const report: string[] = [];
  guest.port().onLine((line) => report.push(line));
  t.match(await guest.whenExited, { status: 0 });
  t.match(log.join('\n'), /answer 42 value 7$/m);
  t.match(report, [/@vuhca init/, /@vuhca module taken failed: .+/, '@vuhca exit 125'], 'the case does not run');
});
