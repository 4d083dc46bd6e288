// SPDX-License-Identifier: Apache-2.0
/**
 * The modules of a test: compiles their folders and what they need (our driver, modules of the
 * kernel), nothing else, and puts all in an order in which the guest can load them. Called by
 * test-job.ts and `vuhca run`.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobModule } from '../../../guest-tests/harness/guest-image.ts';
import { DEVICE_ID_PF, DEVICE_ID_VF, VENDOR_ID } from '../../../protocol/layout/gen/constants.gen.ts';
import { ModuleBuildError } from '../../../qemu/setup/compiler-messages.ts';
import type { KernelModule } from '../../../qemu/setup/guest-kernel.ts';
import { readModuleInfo } from '../../../qemu/setup/module-info.ts';
import { headersOf, readSources } from '../../../qemu/setup/module-sources.ts';
import { UsageError } from '../usage-error.ts';

/** A module, or a folder of modules, to load. */
export interface ModuleTarget {
  /** The option that named it. */
  readonly option: string;
  /** A folder with a Kbuild file, a .ko file, or `vuhca`. */
  readonly path: string;
  /** When absent, a module that names the PCI id of the adapter is a driver. */
  readonly kind?: 'driver' | 'module';
}

/** The name that stands for our driver, and its module. */
export const OUR_DRIVER = 'vuhca';
/** The module that makes our driver a device of the kernel's RDMA core. */
export const VERBS_FOLDER = fileURLToPath(new URL('../../../guest-tests/driver/ib', import.meta.url));
/** What the linker of modules says of a symbol that nothing exports. */
const UNDEFINED = /modpost: .* undefined!/;
const INCLUDE = /^\s*#\s*include\s*["<]([^">\n]+)[">]/gm;
const DRIVER_FOLDER = fileURLToPath(new URL('../../../guest-tests/driver', import.meta.url));

/** The kernel of a test, and modules for it. */
export interface TestKernel {
  readonly imagePath: string;
  /** Modules of its own that the ports of a guest need. */
  readonly bootModules: readonly KernelModule[];
  /** It is a file of the user. */
  readonly isForeign: boolean;
  /** The modules of the folders in their order, compiled for it. */
  build(folders: readonly string[]): Promise<readonly Given[]>;
  /** A module of the kernel's own, and those it needs. */
  stock(name: string): Promise<readonly KernelModule[]>;
  /** Throws SetupError for a .ko file that was compiled for another kernel. */
  checkFile(path: string): void;
}

type Found = JobModule;

/** A module that was compiled, or a file. */
type Given = Omit<JobModule, 'kind'>;

/** Throws UsageError for a target that is neither a folder with modules nor a .ko file. */
export function checkTarget({ option, path }: ModuleTarget): void {
  if (path === OUR_DRIVER && option === '--driver') return;
  if (!existsSync(path)) throw new UsageError(`${option} names ${path}, which does not exist`);
  if (isFolder(path)) {
    if (!hasModules(path)) throw new UsageError(`${option} names ${path}, which has neither Kbuild nor Makefile`);
  } else if (!path.endsWith('.ko')) {
    throw new UsageError(`${option} names ${path}, which is neither a folder nor a .ko file`);
  }
}

/** Whether a folder has a file for the kernel's build. */
export function hasModules(folder: string): boolean {
  return ['Kbuild', 'Makefile'].some((name) => existsSync(resolve(folder, name)));
}

/**
 * The modules of `targets` and those they need, in the order of loading. Our driver is compiled
 * only when a module uses it. Throws ModuleBuildError when one does not compile.
 */
export async function provideTargets(targets: readonly ModuleTarget[], kernel: TestKernel): Promise<JobModule[]> {
  if (targets.some(needsOurDriver)) return provideWith([DRIVER_FOLDER], targets, kernel);
  try {
    return await provideWith([], targets, kernel);
  } catch (error) {
    // A module may use our symbols without our headers.
    if (error instanceof ModuleBuildError && UNDEFINED.test(error.messages))
      return provideWith([DRIVER_FOLDER], targets, kernel);
    throw error;
  }
}

function isOurs({ path }: ModuleTarget): boolean {
  return path === OUR_DRIVER || resolve(path) === DRIVER_FOLDER;
}

/** Whether it is our driver, includes one of its headers, or is a file that depends on it. */
function needsOurDriver(target: ModuleTarget): boolean {
  if (isOurs(target)) return true;
  if (!isFolder(target.path)) return readModuleInfo(target.path).depends.includes(OUR_DRIVER);
  const [ours, theirs] = [readSources(DRIVER_FOLDER), readSources(target.path)].map(headersOf);
  const names = new Set(ours?.map(({ path }) => basename(path)));
  for (const { path } of theirs ?? []) names.delete(basename(path));
  return readSources(target.path).files.some(({ content }) =>
    Array.from(content.toString('latin1').matchAll(INCLUDE), ([, path]) => basename(path as string)).some((name) =>
      names.has(name),
    ),
  );
}

/** The same, with `folders` compiled before those of the targets. */
async function provideWith(
  before: readonly string[],
  targets: readonly ModuleTarget[],
  kernel: TestKernel,
): Promise<JobModule[]> {
  const isBuilt = ({ path }: ModuleTarget): boolean => path === OUR_DRIVER || isFolder(path);
  const available = new Map<string, Found>();
  const wanted: Found[] = [];
  // Each folder may use the symbols and headers of the folders before it.
  const folders = [...before];
  const ours = await kernel.build(folders);
  for (const module of ours) available.set(module.name, { ...module, kind: 'driver' });
  let count = ours.length;
  for (const target of targets) {
    let found: readonly Given[] = ours;
    if (!isBuilt(target)) {
      kernel.checkFile(target.path);
      found = [{ name: moduleName(target.path), path: resolve(target.path) }];
    } else if (!isOurs(target)) {
      folders.push(resolve(target.path));
      const all = await kernel.build(folders);
      found = all.slice(count);
      count = all.length;
    }
    for (const one of found) {
      const module = { ...one, kind: target.kind ?? kindOf(one.path) };
      available.set(one.name, module);
      wanted.push(module);
    }
  }
  const drivers = wanted.filter(({ kind }) => kind === 'driver');
  return order([...drivers, ...wanted.filter(({ kind }) => kind !== 'driver')], available, kernel);
}

/** Each module behind those that it needs; modules of the kernel come from the kernel. */
async function order(
  wanted: readonly Found[],
  available: ReadonlyMap<string, Found>,
  kernel: TestKernel,
): Promise<JobModule[]> {
  const ordered = new Map<string, JobModule>();
  const visit = async (module: Found): Promise<void> => {
    if (ordered.has(module.name)) return;
    for (const name of readModuleInfo(module.path).depends) {
      const needed = available.get(name);
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

/** A driver names the PCI ids of the adapter: `pci:v00001AF4d000010F5sv*...`. */
function kindOf(path: string): 'driver' | 'module' {
  const ids = [DEVICE_ID_PF, DEVICE_ID_VF].map((id) => `pci:v${id8(VENDOR_ID)}d${id8(id)}`);
  const { aliases } = readModuleInfo(path);
  return aliases.some((alias) => ids.some((id) => alias.startsWith(id))) ? 'driver' : 'module';
}

function id8(id: number): string {
  return id.toString(16).toUpperCase().padStart(8, '0');
}

function moduleName(path: string): string {
  return basename(path).replace(/\.ko$/, '').replaceAll('-', '_');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
