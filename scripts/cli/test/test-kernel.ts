// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of a test, by the value of `--kernel`. Called by test-action.ts and `vuhca run`.
 */
import { provideGuestKernel, provideStockModules } from '../../../qemu/setup/guest-kernel.ts';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';
import type { TestKernel } from './test-modules.ts';

export async function provideTestKernel(_wanted: string | undefined): Promise<TestKernel> {
  const kernel = await provideGuestKernel();
  return {
    imagePath: kernel.imagePath,
    build: async (folders) => (folders.length === 0 ? [] : buildKernelModules(folders)),
    stock: (name) => provideStockModules(kernel, [name]),
  };
}
