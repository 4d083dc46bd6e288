// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of a test, by the value of `--kernel`. Called by test-action.ts and `vuhca run`.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { provideGuestKernel, provideStockModules } from '../../../qemu/setup/guest-kernel.ts';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';
import { UsageError } from '../usage-error.ts';
import type { TestKernel } from './test-modules.ts';

/**
 * A bzImage of the user, whose modules must be .ko files, or a kernel of Debian. Throws UsageError
 * for a folder of modules with a bzImage, SetupError when Debian has no such kernel.
 */
export async function provideTestKernel(wanted: string | undefined): Promise<TestKernel> {
  if (wanted !== undefined && existsSync(wanted)) return foreignKernel(resolve(wanted));
  const kernel = await provideGuestKernel();
  return {
    imagePath: kernel.imagePath,
    build: async (folders) => (folders.length === 0 ? [] : buildKernelModules(folders)),
    stock: (name) => provideStockModules(kernel, [name]),
  };
}

function foreignKernel(imagePath: string): TestKernel {
  return {
    imagePath,
    build: async ([folder]) => {
      if (folder === undefined) return [];
      throw new UsageError(`--kernel ${imagePath} has no headers here; compile modules for it, and name the .ko files`);
    },
    stock: async (name) => {
      throw new UsageError(
        `a module needs ${name}, which is not known of --kernel ${imagePath}; name its .ko file, too`,
      );
    },
  };
}
