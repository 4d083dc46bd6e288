// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of set-up: `npx tsx scripts/setup/main.ts [OPTION...] COMMAND...`. Prints the
 * path of each thing it provides on standard output, one a line, and progress on standard error.
 * `modules DIRECTORY...` compiles kernel modules and prints the .ko files; `kernel VERSION`
 * provides another kernel than the default one.
 */
import { provideBusybox } from '../../qemu/setup/busybox.ts';
import { runEntry, UsageError } from '../../qemu/setup/errors.ts';
import { type KernelChoice, resolveGuestKernel } from '../../qemu/setup/kernel-choice.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { refreshPackages } from '../../qemu/setup/packages.ts';
import { provideQemu } from '../../qemu/setup/qemu.ts';
import { defineScript, readOptions } from '../../qemu/setup/script-options.ts';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { setUp } from './set-up.ts';

interface Options {
  readonly refresh?: boolean;
  readonly kernel?: string;
  readonly headers?: string;
}

const COMMANDS: Record<string, (choose: () => Promise<KernelChoice>) => Promise<string[]>> = {
  library: async () => [(await provideLibrary()).path],
  include: async () => [(await provideLibrary()).includeDirectory ?? ''],
  qemu: async () => [(await provideQemu()).path],
  kernel: async (choose) => [(await choose()).imagePath],
  busybox: async () => [(await provideBusybox()).path],
  toolchain: async (choose) => [(await (await choose()).provideToolchain()).kernelDirectory],
  all: async () => {
    const { library, qemu, kernel, toolchain, accelerator } = await setUp('test');
    return [library.path, qemu.path, kernel.imagePath, toolchain.kernelDirectory, accelerator];
  },
};
const EXAMPLES = `
Examples:
  npx tsx scripts/setup/main.ts kernel 6.1
  npx tsx scripts/setup/main.ts modules guest-tests/driver --kernel backports`;
const NAMES = [...Object.keys(COMMANDS), 'modules'].join(', ');

await runEntry(async () => {
  const script = defineScript('npx tsx scripts/setup/main.ts', 'Provides what a run needs and prints where it is.')
    .argument('<COMMAND...>', `${NAMES}; a version may follow kernel, the folders of kernel modules follow modules.`)
    .option(
      '--kernel <VERSION>',
      'The kernel for kernel, toolchain and modules: trixie (default), bookworm, backports, a version, a bzImage.',
    )
    .option('--headers <FOLDER>', 'The build folder of a kernel given as a bzImage.')
    .option('--refresh', 'Looks for newer Debian packages.')
    .addHelpText('after', EXAMPLES);
  const { refresh, kernel, headers } = readOptions<Options>(script);
  if (refresh) refreshPackages();
  const [first, ...rest] = script.args;
  const isVersion = first === 'kernel' && rest.length === 1 && COMMANDS[rest[0] as string] === undefined;
  const choose = (): Promise<KernelChoice> => resolveGuestKernel(isVersion ? rest[0] : kernel, headers);
  await installMissingPackages(BASE_PACKAGES);
  if (first === 'modules') return printModules(rest, choose);
  for (const name of isVersion ? ['kernel'] : script.args) {
    const command = COMMANDS[name];
    if (command === undefined) throw new UsageError(`there is no set-up command ${name}; use one of: ${NAMES}.`);
    for (const line of await command(choose)) process.stdout.write(`${line}\n`);
  }
});

async function printModules(directories: readonly string[], choose: () => Promise<KernelChoice>): Promise<void> {
  if (directories.length === 0) throw new UsageError('modules needs the folders of kernel modules.');
  const toolchain = await (await choose()).provideToolchain();
  for (const { path } of await buildKernelModules(directories, { toolchain })) process.stdout.write(`${path}\n`);
}
