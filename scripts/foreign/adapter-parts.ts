// SPDX-License-Identifier: Apache-2.0
/**
 * Parts of each adapter of the foreign suites: the options of its device, and the modules that are
 * loaded before Debian's user space is entered. Called by suite-guest.ts and run-suites.ts.
 */
import { fileURLToPath } from 'node:url';
import type { JobModule } from '../../guest-tests/harness/guest-image.ts';
import { provideTestKernel } from '../cli/test/test-kernel.ts';
import { OUR_DRIVER, provideTargets } from '../cli/test/test-modules.ts';
import type { AdapterName } from './suites.ts';

/** The module that gives our driver the kernel's verbs. */
const VERBS_FOLDER = fileURLToPath(new URL('../../guest-tests/driver/ib', import.meta.url));

/** Soft-RoCE is compared in the guest of a stock driver. */
export function deviceArguments(adapter: AdapterName): string[] {
  return ['--fabric=switch', `--personality=${adapter === 'rxe' ? 'mthca' : adapter}`];
}

/**
 * True if the kernel of such a guest clears memory, which ib_mthca needs. With mlx5 alone it has
 * poison in freed memory instead, which shows a device that writes there.
 */
export function hasClearedMemory(adapters: readonly AdapterName[]): boolean {
  return adapters.some((adapter) => adapter !== 'mlx5');
}

/** Our modules and those they need; Debian's user space loads the stock drivers by itself. */
export async function provideAdapterModules(adapters: readonly AdapterName[]): Promise<JobModule[]> {
  if (!adapters.includes('vuhca')) return [];
  const kernel = await provideTestKernel(undefined);
  return provideTargets(
    [
      { option: '--driver', path: OUR_DRIVER, kind: 'driver' },
      { option: '--module', path: VERBS_FOLDER, kind: 'module' },
    ],
    kernel,
  );
}
