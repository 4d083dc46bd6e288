// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's debug symbols of a guest's kernel, for gdb (docs/DEBUGGING.md): the kernel itself and
 * its InfiniBand modules, out of the package of all symbols (1 GB to download). Called by `vuhca
 * setup symbols`.
 */
import { join } from 'node:path';
import { askApt } from './apt.ts';
import { provide } from './cache.ts';
import type { GuestKernel } from './guest-kernel.ts';
import { DEFAULT_KERNEL, findKernel } from './kernel-list.ts';
import { dropFiles, fetchFiles, withPackages } from './packages.ts';
import { run } from './tools/command.ts';

/** Files with symbols, for gdb's `file` and `add-symbol-file`. */
export interface KernelSymbols {
  readonly vmlinux: string;
  /** The folder of InfiniBand modules: `hw/mthca/ib_mthca.ko`, `core/ib_core.ko` and others. */
  readonly modules: string;
}

const RECIPE_VERSION = 1;
const KEPT = 2;
const DEBUG_ROOT = 'usr/lib/debug';
const TIMEOUT_MS = 1_800_000;

/** The symbols of `kernel`, which was called `wanted`. */
export function provideKernelSymbols(kernel: GuestKernel, wanted = DEFAULT_KERNEL): Promise<KernelSymbols> {
  const { release } = kernel;
  const names = [`linux-image-${release}-dbg`];
  const ask = async (refresh: boolean) =>
    askApt({ kind: 'packages', names }, refresh, (await findKernel(wanted, refresh)).distribution);
  const vmlinux = join(DEBUG_ROOT, 'boot', `vmlinux-${release}`);
  const modules = join(DEBUG_ROOT, 'lib/modules', release, 'kernel/drivers/infiniband');
  return withPackages('kernel-symbols', ['release', release], ask, async (files) => {
    const directory = await provide({
      name: 'kernel-symbols',
      key: [RECIPE_VERSION, files.map((file) => file.sha256)],
      outputs: [vmlinux, modules],
      keep: KEPT,
      build: async (target) => {
        const [path] = await fetchFiles(files);
        // The rest of the package would take 7 GB.
        const pipe = 'dpkg-deb --fsys-tarfile "$0" | tar --extract --directory="$1" "./$2" "./$3"';
        await run('sh', ['-c', pipe, path, target, vmlinux, modules], { timeoutMs: TIMEOUT_MS });
        dropFiles(files);
      },
    });
    return { vmlinux: join(directory, vmlinux), modules: join(directory, modules) };
  });
}
