// SPDX-License-Identifier: Apache-2.0
/**
 * Images of our own guests: with a shell on the console for `vuhca run`, or with a script and our
 * modules for `npm start`, demonstrations and tests.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type GuestJob, packJob } from '../../../guest-tests/harness/guest-image.ts';
import { buildInitramfs, type GuestModule } from '../../../qemu/initramfs.ts';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';

const SHELL_CASE = new URL('shell-case.sh', import.meta.url);
const GUEST_TESTS = new URL('../../../guest-tests/', import.meta.url);
/** The module of our kernel tests. */
const TESTS = 'vuhca_test';

/**
 * Folders of our driver and of the modules that a guest of `vuhca run` may load by hand: traffic,
 * and the kernel tests, which take minutes to compile, where the case names them.
 */
export function foldersForGuest(caseText: string): string[] {
  const names = ['driver', 'traffic', ...(caseText.includes(TESTS) ? ['kernel'] : [])];
  return names.map((name) => fileURLToPath(new URL(name, GUEST_TESTS)));
}

/** Folders of guest-tests that make a module each; the driver comes first. */
export type ModuleSource = 'driver' | 'kernel' | 'traffic' | 'interrupts';

/** A module of ours; `debugPath` is the same module with debug information. */
export interface OurModule extends GuestModule {
  readonly debugPath: string;
}

/** Our modules for the stock kernel. The guest loads those in `load`; all are in /modules. */
export async function provideModules(sources: readonly ModuleSource[], load: readonly string[]): Promise<OurModule[]> {
  const directories = sources.map((name) => fileURLToPath(new URL(name, GUEST_TESTS)));
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
export function buildShellImage(job: GuestJob, gdb: boolean): Promise<string> {
  const all = [...(job.modules ?? []), ...(job.packed ?? [])];
  const symbols = all.map(({ name, debugPath = '' }) => `${name} ${debugPath}\n`).join('');
  const files = gdb ? [{ path: '/etc/symbols', content: symbols, mode: 0o644 }] : [];
  return packJob({ ...job, files: [...(job.files ?? []), ...files] }, readFileSync(SHELL_CASE, 'utf8'));
}
