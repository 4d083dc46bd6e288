// SPDX-License-Identifier: Apache-2.0
/**
 * Provides a target of set-up by its name: makes or fetches the parts that the cache lacks, and
 * returns its path. Called by `vuhca setup`.
 */
import { fileURLToPath } from 'node:url';
import { provideBusybox } from '../../qemu/setup/busybox.ts';
import { provideDebugKernel } from '../../qemu/setup/debug-kernel.ts';
import { provideDiskImage } from '../../qemu/setup/disk-image.ts';
import { provideDistribution } from '../../qemu/setup/distribution.ts';
import { provideInfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { resolveGuestKernel } from '../../qemu/setup/kernel-choice.ts';
import { DEBIAN_KERNELS } from '../../qemu/setup/kernel-list.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { provideKernelSymbols } from '../../qemu/setup/kernel-symbols.ts';
import type { KernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { refreshPackages } from '../../qemu/setup/packages.ts';
import { provideQemu } from '../../qemu/setup/qemu.ts';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { setUp } from './set-up.ts';
import type { TargetName } from './targets.ts';

/** Options that select a target. */
export interface TargetOptions {
  /** The kernel for all, kernel, toolchain and modules; the default one when absent. */
  readonly kernel?: string;
  /** Makes all and modules for each of Debian's kernels. */
  readonly kernels?: boolean;
  /** The build folder of a kernel given as a bzImage. */
  readonly headers?: string;
  /** The sources of modules. */
  readonly folders: readonly string[];
  /** Looks for newer Debian packages. */
  readonly refresh?: boolean;
}

/** The modules in the guest of `vuhca run`. */
const GUEST_MODULES = ['driver', 'traffic'].map((name) =>
  fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url)),
);
const [DRIVER] = GUEST_MODULES as [string];

const providers: Record<TargetName, (options: TargetOptions) => Promise<string[]>> = {
  all: async (options) => {
    const { library, qemu, kernel, toolchain } = await setUp('start');
    const modules = await provideModules({ ...options, folders: GUEST_MODULES });
    return [library.path, qemu.path, kernel.imagePath, toolchain.kernelDirectory, ...modules];
  },
  library: async () => [(await provideLibrary()).path],
  include: async () => [(await provideLibrary()).includeDirectory ?? ''],
  qemu: async () => [(await provideQemu()).path],
  kernel: async ({ kernel, headers }) => [(await resolveGuestKernel(kernel, headers)).imagePath],
  busybox: async () => [(await provideBusybox()).path],
  'infiniband-tools': async () => [(await provideInfinibandTools()).launcher],
  distribution: async ({ kernel, headers }) => {
    const { stock } = await resolveGuestKernel(kernel, headers);
    return [(await provideDistribution(stock)).imagePath];
  },
  'disk-image': async () => [await provideDiskImage()],
  'debug-kernel': async () => [await provideDebugKernel()],
  symbols: async ({ kernel, headers }) => {
    const { stock } = await resolveGuestKernel(kernel, headers);
    if (stock === undefined) throw new SetupError('Debian has symbols of its own kernels only; name one of them.');
    const { vmlinux, modules } = await provideKernelSymbols(stock, kernel);
    return [vmlinux, modules];
  },
  toolchain: async (options) => [(await provideToolchain(options)).kernelDirectory],
  modules: provideModules,
};

/** The paths of the target. Throws SetupError. */
export async function provideTarget(name: TargetName, options: TargetOptions): Promise<string[]> {
  if (options.refresh === true) refreshPackages();
  await installMissingPackages(BASE_PACKAGES);
  return providers[name](options);
}

/** Modules for the kernels; they may use our driver, as those of a test. */
async function provideModules(options: TargetOptions): Promise<string[]> {
  const paths: string[] = [];
  for (const kernel of options.kernels === true ? DEBIAN_KERNELS : [options.kernel]) {
    const choice = await resolveGuestKernel(kernel, options.headers);
    const toolchain = await choice.provideToolchain();
    const modules = await buildKernelModules(options.folders, { toolchain, mayUse: [DRIVER] });
    paths.push(...modules.map(({ path }) => path));
  }
  return paths;
}

async function provideToolchain({ kernel, headers }: TargetOptions): Promise<KernelToolchain> {
  return (await resolveGuestKernel(kernel, headers)).provideToolchain();
}
