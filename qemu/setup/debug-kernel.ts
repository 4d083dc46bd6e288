// SPDX-License-Identifier: Apache-2.0
/**
 * A kernel that finds the mistakes of its drivers (lockdep, KASAN, DMA-API and others), which
 * Debian offers as source only. Called by `vuhca setup debug-kernel`, whose path is a value of
 * `--kernel`.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { GUEST_MODULES } from './distribution.ts';
import { provideGuestKernel, provideStockModules } from './guest-kernel.ts';
import { dropFiles, fetchFiles, unpackPackages, withRequest } from './packages.ts';
import { installMissingPackages, type SystemPackage } from './system-packages.ts';
import { run } from './tools/command.ts';

const RECIPE_VERSION = 1;
const KEPT = 1;
const RECIPE = fileURLToPath(new URL('debug-kernel.sh', import.meta.url));
/** The kernel whose configuration it has. */
const MODEL = 'trixie';
const BUILD_PACKAGES: readonly SystemPackage[] = [
  { name: 'bc', evidence: 'bc' },
  { name: 'bison', evidence: 'bison' },
  { name: 'flex', evidence: 'flex' },
  { name: 'libelf-dev', evidence: '/usr/include/libelf.h' },
  { name: 'libssl-dev', evidence: '/usr/include/openssl/ssl.h' },
];
const TIMEOUT_MS = 4 * 3600 * 1000;

/** The folder in which it is built: image, modules, and what compiles modules for it. */
export async function provideDebugKernel(): Promise<string> {
  const model = await provideGuestKernel(MODEL);
  const names = [`linux-source-${model.release.split('.').slice(0, 2).join('.')}`];
  return withRequest('debug-kernel', { kind: 'packages', names }, (files) =>
    provide({
      name: 'debug-kernel',
      key: [RECIPE_VERSION, readFileSync(RECIPE, 'utf8'), GUEST_MODULES, files.map((file) => file.sha256)],
      outputs: ['arch/x86/boot/bzImage', 'Module.symvers', 'modules.order'],
      keep: KEPT,
      label: 'building a kernel that watches drivers, which takes a quarter of an hour',
      build: async (target) => {
        await installMissingPackages(BUILD_PACKAGES);
        const unpacked = join(target, 'package');
        await unpackPackages(await fetchFiles(files), unpacked);
        const list = join(target, 'lsmod');
        const modules = await provideStockModules(model, GUEST_MODULES);
        writeFileSync(list, `Module Size Used by\n${modules.map(({ name }) => `${name} 1 0\n`).join('')}`);
        const sources = join(unpacked, 'usr/src', `${names[0]}.tar.xz`);
        await run('sh', [RECIPE, sources, model.configPath, list], { cwd: target, timeoutMs: TIMEOUT_MS });
        rmSync(unpacked, { recursive: true });
        dropFiles(files);
      },
    }),
  );
}
