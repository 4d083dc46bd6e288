// SPDX-License-Identifier: Apache-2.0
//
// The guest of `vuhca run` when it is told none: the stock kernel, busybox, our driver and its test module, and either a shell
// on the console or a script of the user's.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildInitramfs, type GuestModule } from '../../qemu/initramfs.ts';
import { buildKernelModules } from '../setup/kernel-modules.ts';

const SHELL_INIT = new URL('shell-init.sh', import.meta.url);

/** Folders of guest-tests that make a module each; the driver comes first. */
export type ModuleSource = 'driver' | 'kernel' | 'traffic';

/** Our modules, compiled for the stock kernel; those named in `load` are loaded at start, the others lie in /modules. */
export async function provideModules(
  sources: readonly ModuleSource[],
  load: readonly string[],
): Promise<GuestModule[]> {
  const directories = sources.map((name) => fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url)));
  const built = await buildKernelModules(directories);
  return built.map(({ name, path }) => ({ name, path, load: load.includes(name) }));
}

/** An initramfs with a shell, or one that runs `caseScript` and powers off. */
export function buildGuestImage(modules: readonly GuestModule[], caseScript: string | undefined): Promise<string> {
  if (caseScript !== undefined) return buildInitramfs({ modules, caseScript });
  return buildInitramfs({ modules, init: readFileSync(SHELL_INIT, 'utf8') });
}
