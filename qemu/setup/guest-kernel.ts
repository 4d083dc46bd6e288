// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of guests: Debian 13's stock image for amd64, unpacked, with its modules. Modules are
 * compressed with xz; those that are requested are unpacked beside them once. Called by set-up and
 * by the builders of initramfs images; kernel-toolchain.ts compiles modules for the same release.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ArchiveFile, askApt, readDependencies } from './apt.ts';
import { provide } from './cache.ts';
import { run } from './command.ts';
import { SetupError } from './errors.ts';
import { dropFiles, fetchFiles, unpackPackages, withPackages } from './packages.ts';

/** An unpacked kernel. */
export interface GuestKernel {
  /** As `uname -r` prints it in the guest. */
  readonly release: string;
  /** The bzImage, for QEMU's -kernel. */
  readonly imagePath: string;
  readonly configPath: string;
  readonly directory: string;
}

/** A module as a plain .ko file. */
export interface KernelModule {
  /** With underscores, as in /proc/modules. */
  readonly name: string;
  readonly path: string;
}

/** The files of the archive for one kernel and for compiling modules for it. */
export interface KernelFiles {
  readonly release: string;
  readonly image: ArchiveFile;
  /** The headers (two packages); kbuild comes with the compiler. */
  readonly headers: readonly ArchiveFile[];
}

const RECIPE_VERSION = 1;
const INDEX = 'modules.json';

/**
 * Calls `use` with the archive files of the stock kernel; apt is asked once and its answer
 * remembered.
 */
export function withKernelFiles<T>(use: (files: KernelFiles) => Promise<T>): Promise<T> {
  const ask = async (refresh: boolean): Promise<ArchiveFile[]> => {
    const dependencies = await readDependencies('linux-image-amd64', refresh);
    const image = dependencies.find((name) => /^linux-image-\S+-amd64$/.test(name));
    if (image === undefined)
      throw new SetupError('apt names no kernel for linux-image-amd64; run set-up with --refresh.');
    const headers = image.replace('linux-image-', 'linux-headers-');
    return askApt({ kind: 'packages', names: [image, headers, headers.replace(/amd64$/, 'common')] }, false);
  };
  return withPackages('guest-kernel', 'linux-image-amd64', ask, (files) => {
    const image = files.find((file) => file.file.startsWith('linux-image-')) as ArchiveFile;
    const release = /^linux-image-([^_]+)_/.exec(image.file)?.[1] as string;
    return use({ release, image, headers: files.filter((file) => file !== image) });
  });
}

/** The stock kernel of Debian 13, unpacked. */
export function provideGuestKernel(): Promise<GuestKernel> {
  return withKernelFiles(async ({ release, image }) => {
    const [imageFile, configFile] = [`boot/vmlinuz-${release}`, `boot/config-${release}`];
    const directory = await provide({
      name: 'guest-kernel',
      key: [RECIPE_VERSION, image.sha256],
      outputs: [imageFile, configFile, INDEX],
      build: async (target) => {
        await unpackPackages(await fetchFiles([image]), target);
        writeFileSync(join(target, INDEX), JSON.stringify(indexModules(target)));
        dropFiles([image]);
      },
    });
    return { release, imagePath: join(directory, imageFile), configPath: join(directory, configFile), directory };
  });
}

/**
 * The stock modules called `names` and their dependencies, in an order in which insmod can load
 * them. Modules built into the kernel are left out. Throws SetupError for a name that the kernel
 * does not have.
 */
export async function provideStockModules(kernel: GuestKernel, names: readonly string[]): Promise<KernelModule[]> {
  const index = JSON.parse(readFileSync(join(kernel.directory, INDEX), 'utf8')) as ModuleIndex;
  const loaded = new Map<string, KernelModule>();
  const visit = async (name: string): Promise<void> => {
    const key = canonicalName(name);
    if (loaded.has(key) || index.builtin.includes(key)) return;
    const packed = index.modules[key];
    if (packed === undefined) throw new SetupError(`kernel ${kernel.release} has no module ${name}; correct the name.`);
    const path = await unpackModule(kernel.directory, packed, key);
    for (const dependency of readModuleDependencies(path)) await visit(dependency);
    loaded.set(key, { name: key, path });
  };
  for (const name of names) await visit(name);
  return [...loaded.values()];
}

/** The names in a module's `depends` field. */
export function readModuleDependencies(path: string): string[] {
  const content = readFileSync(path);
  const start = content.indexOf('\0depends=') + 1;
  if (start === 0) return [];
  const text = content.toString('latin1', start + 'depends='.length, content.indexOf(0, start));
  return text.split(',').filter((name) => name !== '');
}

interface ModuleIndex {
  /** Path of the packed file, below the kernel's folder, by canonical name. */
  readonly modules: Readonly<Record<string, string>>;
  readonly builtin: readonly string[];
}

function indexModules(directory: string): ModuleIndex {
  const root = join(directory, 'usr/lib/modules');
  const modules: Record<string, string> = {};
  const builtin: string[] = [];
  for (const path of readdirSync(root, { recursive: true }) as string[]) {
    if (/\.ko(\.xz)?$/.test(path)) modules[canonicalName(basename(path))] = join('usr/lib/modules', path);
    if (path.endsWith('modules.builtin')) {
      builtin.push(
        ...readFileSync(join(root, path), 'utf8')
          .trim()
          .split('\n')
          .map((line) => canonicalName(basename(line))),
      );
    }
  }
  return { modules, builtin };
}

function canonicalName(name: string): string {
  return name.replace(/\.ko(\.xz)?$/, '').replaceAll('-', '_');
}

async function unpackModule(directory: string, packed: string, name: string): Promise<string> {
  const plain = join(directory, 'plain', `${name}.ko`);
  if (existsSync(plain)) return plain;
  mkdirSync(join(directory, 'plain'), { recursive: true });
  const temporary = `${plain}.tmp-${process.pid}`;
  try {
    await run('sh', ['-c', 'exec xz --decompress --stdout "$1" > "$2"', 'sh', join(directory, packed), temporary]);
    renameSync(temporary, plain);
  } finally {
    rmSync(temporary, { force: true });
  }
  return plain;
}
