// SPDX-License-Identifier: Apache-2.0
/**
 * The default guest of `vuhca run`: the stock kernel, busybox, our driver and its test module, and
 * either a shell on the console or a script of the user. Called by run-guest.ts, `npm start`,
 * demonstrations and tests.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildInitramfs, type GuestModule } from '../../qemu/initramfs.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';

const SHELL_INIT = new URL('shell-init.sh', import.meta.url);

/** Folders of guest-tests that make a module each; the driver comes first. */
export type ModuleSource = 'driver' | 'kernel' | 'traffic' | 'interrupts';

/** A module of ours; `debugPath` is the same module with debug information. */
export interface OurModule extends GuestModule {
  readonly debugPath: string;
}

/** Our modules for the stock kernel. The guest loads those in `load`; all are in /modules. */
export async function provideModules(sources: readonly ModuleSource[], load: readonly string[]): Promise<OurModule[]> {
  const directories = sources.map((name) => fileURLToPath(new URL(`../../guest-tests/${name}`, import.meta.url)));
  const built = await buildKernelModules(directories);
  return built.map((module) => ({ ...module, load: load.includes(module.name) }));
}

/** An initramfs that runs `caseScript` and powers off. */
export function buildCaseImage(modules: readonly OurModule[], caseScript: string): Promise<string> {
  return buildInitramfs({ modules, caseScript });
}

/**
 * An initramfs with a shell on the console. With `gdb` it prints the commands that give gdb the
 * symbols of the loaded modules.
 */
export function buildShellImage(modules: readonly OurModule[], gdb: boolean): Promise<string> {
  const symbols = modules.map(({ name, debugPath }) => `${name} ${debugPath}\n`).join('');
  const files = gdb ? [{ path: '/etc/symbols', content: symbols, mode: 0o644 }] : [];
  return buildInitramfs({ modules, files, init: readFileSync(SHELL_INIT, 'utf8') });
}
