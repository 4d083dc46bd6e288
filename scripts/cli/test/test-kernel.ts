// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of a test, by the values of `--kernel` and `--headers`. Called by test-action.ts and
 * `vuhca run`.
 */
import { fileURLToPath } from 'node:url';
import { checkModuleRelease, resolveGuestKernel } from '../../../qemu/setup/kernel-choice.ts';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';
import type { TestKernel } from './test-modules.ts';

const OUR_FOLDERS = fileURLToPath(new URL('../../../guest-tests/', import.meta.url));

/** Throws SetupError when there is no such kernel. */
export async function provideTestKernel(wanted: string | undefined, headers?: string): Promise<TestKernel> {
  const kernel = await resolveGuestKernel(wanted, headers);
  return {
    imagePath: kernel.imagePath,
    bootModules: kernel.bootModules,
    isForeign: kernel.stock === undefined,
    build: async (folders) =>
      folders.length === 0
        ? []
        : buildKernelModules(folders, { toolchain: await kernel.provideToolchain(), strict: isOurs }),
    stock: (name) => kernel.provideModules([name]),
    checkFile: (path) => checkModuleRelease(path, kernel),
  };
}

/** Warnings are errors in our modules; users may have theirs. */
function isOurs(folder: string): boolean {
  return folder.startsWith(OUR_FOLDERS);
}
