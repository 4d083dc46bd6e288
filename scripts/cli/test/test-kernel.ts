// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of a test, by the values of `--kernel` and `--headers`. Called by test-action.ts and
 * `vuhca run`.
 */
import { checkModuleRelease, resolveGuestKernel } from '../../../qemu/setup/kernel-choice.ts';
import { buildModuleFolders } from '../../../qemu/setup/kernel-modules.ts';
import { DRIVER_FOLDER, type TestKernel } from './test-modules.ts';

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
        : buildModuleFolders(folders, { toolchain: await kernel.provideToolchain(), mayUse: [DRIVER_FOLDER] }),
    stock: (...names) => kernel.provideModules(names),
    checkFile: (path) => checkModuleRelease(path, kernel),
  };
}
