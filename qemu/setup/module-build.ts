// SPDX-License-Identifier: Apache-2.0
/**
 * Builds one kernel module in a folder of its own in the cache, which stays: the next build of the
 * same source folder for the same kernel compiles only what has changed. Headers of other modules
 * lie beside the copy of the sources, so `../NAME/x.h` and `<x.h>` both find them. One process at a
 * time builds in a folder. Called by kernel-modules.ts.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { cacheRoot, hashOf } from './cache.ts';
import { tryRun } from './command.ts';
import { ModuleBuildError, readMessages } from './compiler-messages.ts';
import type { KernelToolchain } from './kernel-toolchain.ts';
import { withLock, withLockIfFree } from './lock.ts';
import { headersOf, type ModuleSources, syncFiles } from './module-sources.ts';

/** A module whose headers and exported symbols the built one may use. */
export interface ModuleInterface {
  readonly sources: ModuleSources;
  /** Its Module.symvers. */
  readonly symbolsPath: string;
}

/** What to build, with what, and how. */
export interface ModuleBuild {
  readonly sources: ModuleSources;
  readonly uses: readonly ModuleInterface[];
  readonly toolchain: KernelToolchain;
  /** True refuses warnings, and asks for more of them. */
  readonly strict: boolean;
}

/** The files that make left in the build folder; valid while `use` of buildModule() runs. */
export interface ModuleObjects {
  /** The copy of the module's folder with object files, .ko files and Module.symvers. */
  readonly directory: string;
  /** The .ko files, with debug information. */
  readonly modules: readonly string[];
}

/** How many build folders stay, newest use first; those used within the hour stay, too. */
const KEPT = 12;
const IN_USE_MS = 3_600_000;
/** Exists while make runs: a killed compiler leaves object files that make would take for whole. */
const UNFINISHED = 'unfinished';
/** Variables of a make that calls this process; they would change what the kernel's make does. */
const FOREIGN = ['MAKEFLAGS', 'MAKELEVEL', 'KBUILD_OUTPUT', 'KCFLAGS', 'ARCH', 'CROSS_COMPILE', 'CC'];
/** The kernel's make unsets LC_ALL; messages in another language could not be put in order. */
const LOCALE = { LANG: 'C', LC_ALL: 'C', LC_CTYPE: 'C', LC_MESSAGES: 'C', LANGUAGE: '' };

/**
 * Brings the build folder up to date and awaits `use` while no other process changes it. Throws
 * ModuleBuildError with the messages of the compiler.
 */
export async function buildModule<T>(build: ModuleBuild, use: (objects: ModuleObjects) => Promise<T>): Promise<T> {
  const folder = folderOf(build);
  const result = await withLock(lockOf(folder), async () => {
    if (existsSync(join(folder, UNFINISHED))) rmSync(folder, { recursive: true });
    const directory = join(folder, 'source', build.sources.name);
    fill(folder, build);
    writeFileSync(join(folder, UNFINISHED), '');
    await make(folder, build);
    rmSync(join(folder, UNFINISHED));
    touch(folder);
    const order = readFileSync(join(directory, 'modules.order'), 'utf8').split('\n').filter(Boolean);
    return use({ directory, modules: order.map((path) => resolve(directory, path.replace(/\.o$/, '.ko'))) });
  });
  await prune();
  return result;
}

function buildsRoot(): string {
  return join(cacheRoot(), 'builds');
}

function folderOf({ sources, toolchain, strict }: ModuleBuild): string {
  return join(buildsRoot(), `module-${hashOf([sources.directory, toolchain.kernelDirectory, strict])}`);
}

function lockOf(folder: string): string {
  return join(cacheRoot(), 'locks', `build-${folder.slice(-16)}.lock`);
}

/** Copies the module's sources, and the headers of the modules that it uses. */
function fill(folder: string, { sources, uses }: ModuleBuild): void {
  syncFiles(sources.files, join(folder, 'source', sources.name));
  const headers = new Map(uses.flatMap((used) => headersOf(used.sources)).map((file) => [file.path, file]));
  syncFiles([...headers.values()], join(folder, 'headers'));
  for (const used of uses) {
    if (used.sources.name !== sources.name)
      syncFiles(headersOf(used.sources), join(folder, 'source', used.sources.name));
  }
}

async function make(folder: string, { sources, uses, toolchain, strict }: ModuleBuild): Promise<void> {
  const tree = join(folder, 'source', sources.name);
  const flags = [`-I${join(folder, 'headers')}`, `-ffile-prefix-map=${tree}=${sources.directory}`];
  const args = [
    ...[
      '-C',
      toolchain.kernelDirectory,
      `M=${tree}`,
      `KCFLAGS=${[...flags, ...(strict ? ['-Werror'] : [])].join(' ')}`,
    ],
    ...(strict ? ['W=1'] : []),
    ...(uses.length === 0 ? [] : [`KBUILD_EXTRA_SYMBOLS=${uses.map(({ symbolsPath }) => symbolsPath).join(' ')}`]),
  ];
  const path = [toolchain.programs, process.env.PATH].filter(Boolean).join(':');
  const environment: NodeJS.ProcessEnv = { ...process.env, ...LOCALE, PATH: path };
  for (const name of FOREIGN) delete environment[name];
  const result = await tryRun('make', [`-j${availableParallelism()}`, ...args, 'modules'], { env: environment });
  if (result.status === 0) return;
  // An ordinary failure leaves nothing half-written: make removes what it was making.
  if (result.status !== null) rmSync(join(folder, UNFINISHED));
  const places = [sources, ...uses.map((used) => used.sources)];
  const origins = places.map(({ name, directory }) => [join(folder, 'source', name), directory] as const);
  const messages = readMessages(`${result.stdout}\n${result.stderr}`, tree, [
    ...origins,
    [join(folder, 'headers'), ''],
  ]);
  throw new ModuleBuildError(sources.directory, toolchain.release, messages);
}

function touch(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

/** Removes build folders that were not used for long. */
/** Lock files stay: another run may wait for one. */
async function prune(): Promise<void> {
  const folders = readdirSync(buildsRoot()).map((name) => join(buildsRoot(), name));
  const used = (folder: string): number => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sorted = folders.map((folder) => ({ folder, usedMs: used(folder) })).sort((a, b) => b.usedMs - a.usedMs);
  for (const { folder, usedMs } of sorted.slice(KEPT)) {
    if (Date.now() - usedMs < IN_USE_MS) continue;
    await withLockIfFree(lockOf(folder), async () => rmSync(folder, { recursive: true, force: true }));
  }
}
