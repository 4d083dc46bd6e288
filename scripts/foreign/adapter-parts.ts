// SPDX-License-Identifier: Apache-2.0
/**
 * What each adapter of the foreign suites needs: the options of its device, the modules that are
 * loaded before Debian's user space is entered, and files there. Called by suite-guest.ts and
 * run-suites.ts.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { JobModule } from '../../guest-tests/harness/guest-image.ts';
import type { GuestFile } from '../../qemu/initramfs.ts';
import { provideVerbsProvider } from '../../qemu/setup/verbs-provider.ts';
import { provideTestKernel } from '../cli/test/test-kernel.ts';
import { OUR_DRIVER, provideTargets } from '../cli/test/test-modules.ts';
import type { AdapterName } from './suites.ts';

/** The module that gives our driver the kernel's verbs. */
const VERBS_FOLDER = fileURLToPath(new URL('../../guest-tests/driver/ib', import.meta.url));

/** Soft-RoCE is compared in the guest of the stock driver. */
export function deviceArguments(adapter: AdapterName): string[] {
  return ['--fabric=switch', ...(adapter === 'vuhca' ? [] : ['--personality=mthca'])];
}

/** Our modules and those they need; Debian's user space loads the stock drivers by itself. */
export async function provideAdapterModules(adapter: AdapterName): Promise<JobModule[]> {
  if (adapter !== 'vuhca') return [];
  const kernel = await provideTestKernel(undefined);
  return provideTargets(
    [
      { option: '--driver', path: OUR_DRIVER, kind: 'driver' },
      { option: '--module', path: VERBS_FOLDER, kind: 'module' },
    ],
    kernel,
  );
}

/** The plug-in of libibverbs for our adapter, and the file that names it. */
export async function provideAdapterFiles(adapter: AdapterName): Promise<GuestFile[]> {
  if (adapter !== 'vuhca') return [];
  const { path, guestPath, configPath, configText } = await provideVerbsProvider();
  return [
    { path: guestPath, content: readFileSync(path) },
    { path: configPath, content: configText, mode: 0o644 },
  ];
}
