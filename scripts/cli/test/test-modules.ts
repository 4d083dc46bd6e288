// SPDX-License-Identifier: Apache-2.0
/**
 * The modules of a test: compiles their folders, adds only their dependencies (our driver, modules
 * of the kernel), and sorts all into an order in which the guest can load them. Called by
 * test-job.ts and `vuhca run`.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobModule } from '../../../guest-tests/harness/guest-image.ts';
import { DEVICE_ID_PF, DEVICE_ID_VF, VENDOR_ID } from '../../../protocol/layout/gen/constants.gen.ts';
import type { KernelModule } from '../../../qemu/setup/guest-kernel.ts';
import { readModuleInfo } from '../../../qemu/setup/module-info.ts';
import { checkInput } from '../options/named-files.ts';
import { UsageError } from '../options/usage-error.ts';

/** A module, or a folder of modules, to load. */
export interface ModuleTarget {
  /** The option that named it. */
  readonly option: string;
  /** A folder with a Kbuild file, a .ko file, or `vuhca`. */
  readonly path: string;
  /** When absent, a module that names the PCI id of the adapter is a driver. */
  readonly kind?: 'driver' | 'module';
}

/** The name of our driver on the command line, and its module. */
export const OUR_DRIVER = 'vuhca';
/** The module that makes our driver a device of the kernel's RDMA core. */
export const VERBS_FOLDER = fileURLToPath(new URL('../../../guest-tests/driver/ib', import.meta.url));
/** The sources of our driver. */
export const DRIVER_FOLDER = fileURLToPath(new URL('../../../guest-tests/driver', import.meta.url));

/** The kernel of a test, and modules for it. */
export interface TestKernel {
  readonly imagePath: string;
  /** Modules of its own that the ports of a guest need. */
  readonly bootModules: readonly KernelModule[];
  /** It is a file of the user. */
  readonly isForeign: boolean;
  /**
   * The modules of each of the folders, compiled for it. They may use our driver, which is
   * compiled only where they use its symbols.
   */
  build(folders: readonly string[]): Promise<readonly (readonly Given[])[]>;
  /** Modules of the kernel's own, and those they need. */
  stock(...names: string[]): Promise<readonly KernelModule[]>;
  /** Throws SetupError for a .ko file that was compiled for another kernel. */
  checkFile(path: string): void;
}

/** A module that was compiled, or a file. */
type Given = Omit<JobModule, 'kind'>;

/** Throws UsageError for a target that is neither a folder with modules nor a .ko file. */
export function checkTarget({ option, path }: ModuleTarget): void {
  if (path === OUR_DRIVER && option === '--driver') return;
  checkInput(option, path, { folder: true });
  if (isFolder(path)) {
    if (!hasModules(path)) throw new UsageError(`${option} names ${path}, which has neither Kbuild nor Makefile`);
  } else if (!path.endsWith('.ko')) {
    throw new UsageError(`${option} names ${path}, which is neither a folder nor a .ko file`);
  }
}

/** True if a folder has a file for the kernel's build. */
export function hasModules(folder: string): boolean {
  return ['Kbuild', 'Makefile'].some((name) => existsSync(resolve(folder, name)));
}

/**
 * The modules of `targets` and those they need, in the order of loading. Our driver is among them
 * only when a module depends on it. Throws ModuleBuildError when one does not compile.
 */
export async function provideTargets(targets: readonly ModuleTarget[], kernel: TestKernel): Promise<JobModule[]> {
  // Each folder may use the symbols and headers of the folders before it.
  const folders = [...new Set(targets.flatMap((target) => folderOf(target) ?? []))];
  const built = await kernel.build(folders);
  const wanted = targets.flatMap((target) => {
    const folder = folderOf(target);
    const found = folder === undefined ? [readFile(target, kernel)] : (built[folders.indexOf(folder)] ?? []);
    return found.map((one) => ({ ...one, kind: target.kind ?? kindOf(one.path) }));
  });
  const drivers = wanted.filter(({ kind }) => kind === 'driver');
  return order([...drivers, ...wanted.filter(({ kind }) => kind !== 'driver')], kernel);
}

/** The folder that is compiled for the target; undefined for a file. */
function folderOf({ path }: ModuleTarget): string | undefined {
  if (path === OUR_DRIVER) return DRIVER_FOLDER;
  return isFolder(path) ? resolve(path) : undefined;
}

function readFile({ path }: ModuleTarget, kernel: TestKernel): Given {
  kernel.checkFile(path);
  return { name: basename(path).replace(/\.ko$/, '').replaceAll('-', '_'), path: resolve(path) };
}

/** Each module after those on which it depends: given ones, our driver, modules of the kernel. */
async function order(wanted: readonly JobModule[], kernel: TestKernel): Promise<JobModule[]> {
  const available = new Map(wanted.map((module) => [module.name, module]));
  const ordered = new Map<string, JobModule>();
  const visit = async (module: JobModule): Promise<void> => {
    if (ordered.has(module.name)) return;
    for (const name of readModuleInfo(module.path).depends) {
      const needed = available.get(name) ?? (name === OUR_DRIVER ? await provideOurDriver(kernel) : undefined);
      if (needed !== undefined) await visit(needed);
      else
        for (const stock of await kernel.stock(name))
          if (!ordered.has(stock.name)) ordered.set(stock.name, { ...stock, kind: 'stock' });
    }
    ordered.set(module.name, module);
  };
  for (const module of wanted) await visit(module);
  return [...ordered.values()];
}

async function provideOurDriver(kernel: TestKernel): Promise<JobModule> {
  const [driver] = (await kernel.build([DRIVER_FOLDER])).flat();
  return { ...(driver as Given), kind: 'driver' };
}

/** A driver names the PCI ids of the adapter: `pci:v00001AF4d000010F5sv*...`. */
function kindOf(path: string): 'driver' | 'module' {
  const ids = [DEVICE_ID_PF, DEVICE_ID_VF].map((id) => `pci:v${id8(VENDOR_ID)}d${id8(id)}`);
  const { aliases } = readModuleInfo(path);
  return aliases.some((alias) => ids.some((id) => alias.startsWith(id))) ? 'driver' : 'module';
}

function id8(id: number): string {
  return id.toString(16).toUpperCase().padStart(8, '0');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
