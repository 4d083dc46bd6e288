// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel of guests: a stock image of Debian for amd64, unpacked, with its modules, or one that
 * the user has built; Debian 13's when none is named. Debian's modules are compressed with xz;
 * those that are requested are unpacked beside them once. Called by set-up, kernel-choice.ts and
 * the builders of initramfs images; kernel-toolchain.ts compiles modules for the same release.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ArchiveFile, askApt, readDependencies } from './apt.ts';
import { provide, temporaryBeside } from './cache.ts';
import { findImage, isBuildFolder, listModules, readKernelBuild } from './kernel-build.ts';
import { DEFAULT_KERNEL, findKernel } from './kernel-list.ts';
import { dropFiles, fetchFiles, recallPackages, unpackPackages, withPackages } from './packages.ts';
import { run } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/** An unpacked kernel, or one that was built here. */
export interface GuestKernel {
  /** As `uname -r` prints it in the guest. */
  readonly release: string;
  /** The bzImage, for QEMU's -kernel. */
  readonly imagePath: string;
  readonly configPath: string;
  readonly directory: string;
  /** The folder of `modules.order` and `modules.builtin`. */
  readonly listsDirectory: string;
  /** Equal for kernels with equal modules. */
  readonly identity: string;
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
  /** One package, or several: since Linux 6.19 image and modules are packages of their own. */
  readonly image: readonly ArchiveFile[];
  /** The headers (two packages); kbuild comes with the compiler. */
  readonly headers: readonly ArchiveFile[];
}

const RECIPE_VERSION = 2;
const INDEX = 'modules.json';
/** How many unpacked kernels stay in the cache: three distributions, before and after an update. */
const KEPT = 6;
const [IMAGE, CONFIG] = ['vmlinuz', 'config'];

/**
 * Calls `use` with the archive files of the kernel called `wanted` (kernel-list.ts has the forms of
 * names); apt is asked once and its answer remembered.
 */
export function withKernelFiles<T>(use: (files: KernelFiles) => Promise<T>, wanted = DEFAULT_KERNEL): Promise<T> {
  const ask = async (refresh: boolean): Promise<ArchiveFile[]> => {
    const { release, distribution } = await findKernel(wanted, refresh);
    const [image, headers] = [`linux-image-${release}`, `linux-headers-${release}`];
    const parts = (await readDependencies(image, false, distribution)).filter((name) => name.endsWith(`-${release}`));
    const common = (await readDependencies(headers, false, distribution)).filter((name) => /-common$/.test(name));
    return askApt({ kind: 'packages', names: [image, ...parts, headers, ...common] }, false, distribution);
  };
  return withPackages(...questionOf(wanted), ask, (files) => {
    const isHeader = ({ file }: ArchiveFile): boolean => file.startsWith('linux-headers-');
    const image = files.filter((file) => !isHeader(file));
    return use({ release: releaseIn(files) as string, image, headers: files.filter(isHeader) });
  });
}

/** The release of the kernel called `wanted` as apt told it last; undefined when it never did. */
export function recallRelease(wanted: string): string | undefined {
  return releaseIn(recallPackages(...questionOf(wanted)) ?? []);
}

/** The key by which the answer about a kernel is remembered. */
function questionOf(wanted: string): [name: string, question: unknown] {
  return ['guest-kernel', ['release', wanted]];
}

function releaseIn(files: readonly ArchiveFile[]): string | undefined {
  return files.map(({ file }) => /^linux-image-([^_]+)_/.exec(file)?.[1]).find(Boolean);
}

/**
 * The stock kernel called `wanted`, unpacked, or that of a build folder. Throws SetupError when
 * Debian has none, UsageError for a folder without a kernel.
 */
export async function provideGuestKernel(wanted = DEFAULT_KERNEL): Promise<GuestKernel> {
  if (isBuildFolder(wanted)) {
    const build = readKernelBuild(wanted);
    return { ...build, ...findImage(build), listsDirectory: build.directory };
  }
  return withKernelFiles(async ({ release, image }) => {
    const directory = await provide({
      name: 'guest-kernel',
      label: `unpacking the kernel ${release}`,
      key: [RECIPE_VERSION, image.map((file) => file.sha256)],
      outputs: [IMAGE, CONFIG, INDEX],
      keep: KEPT,
      build: async (target) => {
        await unpackPackages(await fetchFiles(image), target);
        moveImage(target, release);
        writeFileSync(join(target, INDEX), JSON.stringify(indexModules(target)));
        dropFiles(image);
      },
    });
    return {
      release,
      imagePath: join(directory, IMAGE),
      configPath: join(directory, CONFIG),
      directory,
      listsDirectory: join(directory, 'usr/lib/modules', release),
      identity: directory,
    };
  }, wanted);
}

/**
 * The kernel's modules that bind a device of a personality and bring its verbs, in loading order.
 */
export const STOCK_DRIVERS = { mthca: ['ib_mthca'], mlx5: ['mlx5_core', 'mlx5_ib'] } as const;

/**
 * The stock modules called `names` and their dependencies, in an order in which insmod can load
 * them. Modules built into the kernel are left out. Throws SetupError for a name that the kernel
 * does not have.
 */
export async function provideStockModules(kernel: GuestKernel, names: readonly string[]): Promise<KernelModule[]> {
  const index = readIndex(kernel);
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

/** Debian's kernels have an index in the cache. */
function readIndex(kernel: GuestKernel): ModuleIndex {
  const path = join(kernel.directory, INDEX);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as ModuleIndex;
  const { modules, builtin } = listModules(kernel);
  return {
    modules: Object.fromEntries(modules.map((module) => [canonicalName(basename(module)), module])),
    builtin: builtin.map(canonicalName),
  };
}

/** Gives image and configuration the same names for all releases. */
function moveImage(directory: string, release: string): void {
  for (const name of [IMAGE, CONFIG]) {
    const places = [join('usr/lib/modules', release, name), join('boot', `${name}-${release}`)];
    const found = places.map((place) => join(directory, place)).find((path) => existsSync(path));
    if (found !== undefined) renameSync(found, join(directory, name));
  }
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
  if (packed.endsWith('.ko')) return join(directory, packed);
  const plain = join(directory, 'plain', `${name}.ko`);
  if (existsSync(plain)) return plain;
  mkdirSync(join(directory, 'plain'), { recursive: true });
  const temporary = temporaryBeside(plain);
  try {
    await run('sh', ['-c', 'exec xz --decompress --stdout "$1" > "$2"', 'sh', join(directory, packed), temporary]);
    renameSync(temporary, plain);
  } finally {
    rmSync(temporary, { force: true });
  }
  return plain;
}
