// SPDX-License-Identifier: Apache-2.0
//
// The command line of set-up: `npx tsx scripts/setup/main.ts [--refresh] COMMAND...`. Prints what it made on standard
// output, one path a line, and news on standard error. `--refresh` looks for newer Debian packages.
// `modules DIRECTORY...` compiles kernel modules and prints the .ko files.

import { provideBusybox } from '../../qemu/setup/busybox.ts';
import { runEntry, SetupError } from '../../qemu/setup/errors.ts';
import { provideGuestKernel } from '../../qemu/setup/guest-kernel.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { provideKernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { refreshPackages } from '../../qemu/setup/packages.ts';
import { provideQemu } from '../../qemu/setup/qemu.ts';
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

await runEntry(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--refresh')) refreshPackages();
  const names = args.filter((arg) => arg !== '--refresh');
  const known = [...Object.keys(COMMANDS), 'modules'].join(', ');
  if (names.length === 0) throw new SetupError(`say what to set up: ${known}.`);
  await installMissingPackages(BASE_PACKAGES);
  if (names[0] === 'modules') {
    for (const { path } of await buildKernelModules(names.slice(1))) process.stdout.write(`${path}\n`);
    return;
  }
  for (const name of names) {
    const command = COMMANDS[name];
    if (command === undefined) throw new SetupError(`unknown set-up command ${name}; use one of: ${known}.`);
    for (const line of await command()) process.stdout.write(`${line}\n`);
  }
});
