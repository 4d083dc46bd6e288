// SPDX-License-Identifier: Apache-2.0
/**
 * The tools that compile modules for a stock kernel on any machine: the kernel's compiler, its
 * headers and its kbuild programs, all of the kernel's own distribution, in a private prefix. Needs
 * no root, and works beside the machine's own compiler and C library. Called by kernel-choice.ts.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askApt, readDependencies } from './apt.ts';
import { provide } from './cache.ts';
import { type KernelFiles, withKernelFiles } from './guest-kernel.ts';
import { isBuildFolder, type KernelBuild, readKernelBuild } from './kernel-build.ts';
import { DEFAULT_KERNEL, findKernel } from './kernel-list.ts';
import { dropFiles, fetchFiles, withPackages } from './packages.ts';
import { makePrefix } from './prefix.ts';
import { SetupError } from './tools/errors.ts';

/** A compiler with the headers of one kernel release. */
export interface KernelToolchain {
  readonly release: string;
  /** The folder with the programs, which must come first in PATH; absent for the machine's own. */
  readonly programs?: string;
  /** The kernel's build folder, for `make -C`. */
  readonly kernelDirectory: string;
  /** Equal for toolchains that compile the same sources to the same modules. */
  readonly identity: string;
}

const RECIPE_VERSION = 3;
/** How many toolchains stay in the cache: as many as kernels. */
const KEPT = 6;
/** The package of the compiler is that of the host's programs since Linux 6.19. */
const NEEDED = /^gcc-[0-9]+(-for-host)?$|^linux-compiler-gcc-|^linux-kbuild-/;
const SOURCES = 'usr/src';
// Libraries of the compiler's run-time checkers: kernel code is never linked with them.
const EXCEPT = ['libasan8', 'liblsan0', 'libtsan2', 'libubsan1', 'libhwasan0', 'libitm1', 'libquadmath0', 'libgomp1'];

/** The toolchain for the stock kernel called `wanted`, or for the one of a build folder. */
export async function provideKernelToolchain(wanted = DEFAULT_KERNEL): Promise<KernelToolchain> {
  if (isBuildFolder(wanted)) return toolchainOf(readKernelBuild(wanted));
  return withKernelFiles((kernel) => {
    const question = [RECIPE_VERSION, kernel.release, EXCEPT];
    return withPackages('kernel-toolchain', question, resolverFor(kernel), (compiler) => {
      const files = [...compiler, ...kernel.headers];
      return provideFrom(kernel.release, files);
    });
  }, wanted);
}

/** The toolchain of a user's own kernel: its build folder and the machine's compiler. */
export function toolchainOf({ release, directory, identity }: KernelBuild): KernelToolchain {
  return { release, kernelDirectory: directory, identity };
}

async function provideFrom(
  release: string,
  files: readonly Parameters<typeof dropFiles>[0][number][],
): Promise<KernelToolchain> {
  const kernelPath = join(SOURCES, `linux-headers-${release}`);
  const directory = await provide({
    name: 'kernel-toolchain',
    label: `unpacking compiler and headers of the kernel ${release}`,
    key: [RECIPE_VERSION, files.map((file) => file.sha256)],
    keep: KEPT,
    outputs: [join(kernelPath, 'Makefile'), join(kernelPath, 'Module.symvers'), 'usr/bin/x86_64-linux-gnu-ld'],
    build: async (target, finalTarget) => {
      await makePrefix(await fetchFiles(files), target, finalTarget);
      moveAbsolutePaths(target, finalTarget);
      dropFiles(files);
    },
  });
  return {
    release,
    programs: join(directory, 'usr/bin'),
    kernelDirectory: join(directory, kernelPath),
    identity: directory,
  };
}

/** The compiler that the headers depend on and the kbuild programs, with their dependencies. */
function resolverFor(kernel: KernelFiles) {
  return async (refresh: boolean) => {
    const { suite, distribution } = await findKernel(kernel.release, refresh);
    const dependencies = await readDependencies(`linux-headers-${kernel.release}`, false, distribution);
    const needed = dependencies.filter((name) => NEEDED.test(name));
    if (needed.length !== 2) {
      throw new SetupError(`linux-headers-${kernel.release} names no compiler and kbuild; run set-up with --refresh.`);
    }
    return askApt({ kind: 'closure', names: needed, suite, except: EXCEPT }, false, distribution);
  };
}

/**
 * Points the absolute paths in the makefile of a headers package, those of the common makefile and
 * of the folder itself, into the prefix.
 */
function moveAbsolutePaths(directory: string, finalDirectory: string): void {
  const sources = join(directory, SOURCES);
  for (const name of readdirSync(sources)) {
    const makefile = join(sources, name, 'Makefile');
    if (!existsSync(makefile)) continue;
    const text = readFileSync(makefile, 'utf8');
    writeFileSync(makefile, text.replace(/(?<=[ =])\/usr\/src\//g, `${join(finalDirectory, SOURCES)}/`));
  }
}
