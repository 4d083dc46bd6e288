// SPDX-License-Identifier: Apache-2.0
/**
 * The tools that compile modules for the stock kernel on any machine: the kernel's compiler, its
 * headers and its kbuild programs, all of Debian 13, in a private prefix. Needs no root, and works
 * beside Debian 12's older compiler and C library. Called by kernel-modules.ts.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askApt, readDependencies } from './apt.ts';
import { provide } from './cache.ts';
import { SetupError } from './errors.ts';
import { type KernelFiles, withKernelFiles } from './guest-kernel.ts';
import { dropFiles, fetchFiles, withPackages } from './packages.ts';
import { makePrefix } from './prefix.ts';

/** A compiler with the headers of one kernel release. */
export interface KernelToolchain {
  readonly release: string;
  /** The folder with the programs; it must come first in PATH. */
  readonly programs: string;
  /** The kernel's build folder, for `make -C`. */
  readonly kernelDirectory: string;
  readonly directory: string;
}

const RECIPE_VERSION = 1;
const SOURCES = 'usr/src';
// Libraries of the compiler's run-time checkers: kernel code is never linked with them.
const EXCEPT = ['libasan8', 'liblsan0', 'libtsan2', 'libubsan1', 'libhwasan0', 'libitm1', 'libquadmath0', 'libgomp1'];

/** The toolchain for the stock kernel. */
export function provideKernelToolchain(): Promise<KernelToolchain> {
  return withKernelFiles((kernel) => {
    const question = [RECIPE_VERSION, kernel.release, EXCEPT];
    return withPackages('kernel-toolchain', question, resolverFor(kernel), (compiler) => {
      const files = [...compiler, ...kernel.headers];
      return provideFrom(kernel.release, files);
    });
  });
}

async function provideFrom(
  release: string,
  files: readonly Parameters<typeof dropFiles>[0][number][],
): Promise<KernelToolchain> {
  const kernelPath = join(SOURCES, `linux-headers-${release}`);
  const directory = await provide({
    name: 'kernel-toolchain',
    key: [RECIPE_VERSION, files.map((file) => file.sha256)],
    outputs: [join(kernelPath, 'Makefile'), join(kernelPath, 'Module.symvers'), 'usr/bin/x86_64-linux-gnu-ld'],
    build: async (target, finalTarget) => {
      await makePrefix(await fetchFiles(files), target, finalTarget);
      moveAbsolutePaths(target, finalTarget);
      dropFiles(files);
    },
  });
  return { release, programs: join(directory, 'usr/bin'), kernelDirectory: join(directory, kernelPath), directory };
}

/** The compiler that the headers depend on and the kbuild programs, with their dependencies. */
function resolverFor(kernel: KernelFiles) {
  return async (refresh: boolean) => {
    const dependencies = await readDependencies(`linux-headers-${kernel.release}`, refresh);
    const needed = dependencies.filter((name) => /^gcc-[0-9]+$|^linux-kbuild-/.test(name));
    if (needed.length !== 2) {
      throw new SetupError(`linux-headers-${kernel.release} names no compiler and kbuild; run set-up with --refresh.`);
    }
    return askApt({ kind: 'closure', names: needed, suite: 'trixie', except: EXCEPT }, false);
  };
}

/**
 * Points the absolute path of the common makefile, in that of a headers package, into the prefix.
 */
function moveAbsolutePaths(directory: string, finalDirectory: string): void {
  const sources = join(directory, SOURCES);
  for (const name of readdirSync(sources)) {
    const makefile = join(sources, name, 'Makefile');
    if (!existsSync(makefile)) continue;
    const text = readFileSync(makefile, 'utf8');
    writeFileSync(makefile, text.replaceAll(' /usr/src/', ` ${join(finalDirectory, SOURCES)}/`));
  }
}
