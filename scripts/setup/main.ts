// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of set-up: `npx tsx scripts/setup/main.ts [--refresh] COMMAND...`. Prints the
 * path of each thing it provides on standard output, one a line, and progress on standard error.
 * `modules DIRECTORY...` compiles kernel modules and prints the .ko files.
 */
import { provideBusybox } from '../../qemu/setup/busybox.ts';
import { runEntry, UsageError } from '../../qemu/setup/errors.ts';
import { provideGuestKernel } from '../../qemu/setup/guest-kernel.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { provideKernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { refreshPackages } from '../../qemu/setup/packages.ts';
import { provideQemu } from '../../qemu/setup/qemu.ts';
import { defineScript, readOptions } from '../../qemu/setup/script-options.ts';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { setUp } from './set-up.ts';

const COMMANDS: Record<string, () => Promise<string[]>> = {
  library: async () => [(await provideLibrary()).path],
  include: async () => [(await provideLibrary()).includeDirectory ?? ''],
  qemu: async () => [(await provideQemu()).path],
  kernel: async () => [(await provideGuestKernel()).imagePath],
  busybox: async () => [(await provideBusybox()).path],
  toolchain: async () => [(await provideKernelToolchain()).directory],
  all: async () => {
    const { library, qemu, kernel, toolchain, accelerator } = await setUp('test');
    return [library.path, qemu.path, kernel.imagePath, toolchain.directory, accelerator];
  },
};
const NAMES = [...Object.keys(COMMANDS), 'modules'].join(', ');

await runEntry(async () => {
  const script = defineScript('npx tsx scripts/setup/main.ts', 'Provides what a run needs and prints where it is.')
    .argument('<COMMAND...>', `${NAMES}; the folders of kernel modules follow modules.`)
    .option('--refresh', 'Looks for newer Debian packages.');
  if (readOptions<{ refresh?: boolean }>(script).refresh) refreshPackages();
  const names = script.args;
  await installMissingPackages(BASE_PACKAGES);
  if (names[0] === 'modules') {
    for (const { path } of await buildKernelModules(names.slice(1))) process.stdout.write(`${path}\n`);
    return;
  }
  for (const name of names) {
    const command = COMMANDS[name];
    if (command === undefined) throw new UsageError(`there is no set-up command ${name}; use one of: ${NAMES}.`);
    for (const line of await command()) process.stdout.write(`${line}\n`);
  }
});
