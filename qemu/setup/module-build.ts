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
import { ModuleBuildError, readMessages } from './compiler-messages.ts';
import { joinSources } from './joined-sources.ts';
import type { KernelToolchain } from './kernel-toolchain.ts';
import { withLock, withLockIfFree } from './lock.ts';
import {
  type BuildInputs,
  describeModule,
  explainCompile,
  hashFiles,
  readOtherRecords,
  readRecord,
  writeRecord,
} from './module-record.ts';
import { type ModuleSources, type SourceFile, syncFiles } from './module-sources.ts';
import type { StepDetails } from './progress.ts';
import { tryRun } from './tools/command.ts';

/** A use of another module by the built one. */
export interface ModuleInterface {
  readonly sources: ModuleSources;
  readonly headers: readonly SourceFile[];
  /** Its Module.symvers; absent where only headers are used. */
  readonly symbolsPath?: string;
}

/** A module to build, with its toolchain and options. */
export interface ModuleBuild {
  readonly sources: ModuleSources;
  readonly uses: readonly ModuleInterface[];
  readonly toolchain: KernelToolchain;
  /** True refuses warnings, and asks for more of them. */
  readonly strict: boolean;
  /** True or nested compiles several source files as one (joined-sources.ts). */
  readonly joined: boolean | 'nested';
  /** Called for each file that is compiled. */
  onCompiled?(): void;
}

/** The files that make left in the build folder; valid while `use` of buildModule() runs. */
export interface ModuleObjects {
  /** The copy of the module's folder with object files, .ko files and Module.symvers. */
  readonly directory: string;
  /** The .ko files, with debug information. */
  readonly modules: readonly string[];
}

/** How many build folders stay, newest use first; those used within the hour stay, too. */
const KEPT = 24;
const IN_USE_MS = 3_600_000;
/** Exists while make runs: a killed compiler leaves object files that make would take for whole. */
const UNFINISHED = 'unfinished';
/** Folders of a build folder: a copy of each module's folder; headers of others. */
const [SOURCE, HEADERS] = ['source', 'headers'];
/** Output of the kernel's make for a C file of a module, but not of those that it adds. */
const COMPILED = /^ {2}CC \[M\] (?!.*\.(?:mod|module-common)\.o$)/gm;
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
  const work = async (): Promise<T> => {
    await removeUnfinished(folder);
    const isWhole = !existsSync(join(folder, SOURCE));
    const directory = join(folder, SOURCE, build.sources.name);
    fill(folder, build);
    writeFileSync(join(folder, UNFINISHED), '');
    const start = performance.now();
    await make(folder, build);
    const lastMs = performance.now() - start;
    const wholeMs = isWhole ? lastMs : (readRecord(folder)?.wholeMs ?? lastMs);
    writeRecord(folder, { ...inputsOf(build), lastMs, wholeMs });
    rmSync(join(folder, UNFINISHED));
    touch(folder);
    const order = readFileSync(join(directory, 'modules.order'), 'utf8').split('\n').filter(Boolean);
    return use({ directory, modules: order.map((path) => resolve(directory, path.replace(/\.o$/, '.ko'))) });
  };
  const result = await withLock(lockOf(folder), work, nameStep(build));
  await prune();
  return result;
}

/** Words for the compile in messages. */
export function nameStep({ sources, toolchain }: ModuleBuild): string {
  return `compiling ${describeModule(sources)} for the kernel ${toolchain.release}`;
}

/** Why the module has to be compiled, and how long that took before. */
export function explainBuild(build: ModuleBuild): StepDetails {
  const folder = folderOf(build);
  const others = readOtherRecords(buildsRoot(), folder, build.sources.directory);
  return explainCompile(inputsOf(build), readRecord(folder), others, existsSync(join(folder, UNFINISHED)));
}

/** Removes what a killed run left, when the compilers of that run have ended, too. */
async function removeUnfinished(folder: string): Promise<void> {
  if (!existsSync(join(folder, UNFINISHED))) return;
  await withLock(compilersLockOf(folder), async () => {
    for (const name of [SOURCE, HEADERS]) rmSync(join(folder, name), { recursive: true, force: true });
  });
}

function inputsOf({ sources, uses, toolchain }: ModuleBuild): BuildInputs {
  const used = uses.map((use) => ({
    ...hashFiles(use.headers, `${use.sources.name}/`),
    ...(use.symbolsPath === undefined
      ? {}
      : { [`the interface of ${use.sources.name}`]: hashOf(readFileSync(use.symbolsPath, 'utf8')) }),
  }));
  return {
    directory: sources.directory,
    release: toolchain.release,
    toolchain: toolchain.identity,
    inputs: Object.assign(hashFiles(sources.files), ...used) as Record<string, string>,
  };
}

function buildsRoot(): string {
  return join(cacheRoot(), 'builds');
}

function folderOf({ sources, toolchain, strict, joined }: ModuleBuild): string {
  return join(buildsRoot(), `module-${hashOf([sources.directory, toolchain.kernelDirectory, strict, joined])}`);
}

function lockOf(folder: string): string {
  return join(cacheRoot(), 'locks', `build-${folder.slice(-16)}.lock`);
}

/** Held by make and all that it starts, so also by compilers that outlive a killed make. */
function compilersLockOf(folder: string): string {
  return join(cacheRoot(), 'locks', `compilers-${folder.slice(-16)}.lock`);
}

/** Copies the module's sources, and the headers of the modules that it uses. */
function fill(folder: string, { sources, uses, joined }: ModuleBuild): void {
  const { files } = joined === false ? sources : joinSources(sources, joined === 'nested');
  syncFiles(files, join(folder, SOURCE, sources.name));
  const headers = new Map(uses.flatMap((used) => used.headers).map((file) => [file.path, file]));
  syncFiles([...headers.values()], join(folder, HEADERS));
  for (const used of uses) {
    if (used.sources.name !== sources.name) syncFiles(used.headers, join(folder, SOURCE, used.sources.name));
  }
}

async function make(folder: string, build: ModuleBuild): Promise<void> {
  const { sources, uses, toolchain, strict } = build;
  const tree = join(folder, SOURCE, sources.name);
  const symbols = uses.flatMap(({ symbolsPath }) => symbolsPath ?? []);
  const flags = [`-I${join(folder, HEADERS)}`, `-ffile-prefix-map=${tree}=${sources.directory}`];
  const args = [
    ...[
      '-C',
      toolchain.kernelDirectory,
      `M=${tree}`,
      `KCFLAGS=${[...flags, ...(strict ? ['-Werror'] : [])].join(' ')}`,
    ],
    ...(strict ? ['W=1'] : []),
    ...(symbols.length === 0 ? [] : [`KBUILD_EXTRA_SYMBOLS=${symbols.join(' ')}`]),
  ];
  const path = [toolchain.programs, process.env.PATH].filter(Boolean).join(':');
  const environment: NodeJS.ProcessEnv = { ...process.env, ...LOCALE, PATH: path };
  for (const name of FOREIGN) delete environment[name];
  const command = ['--no-fork', compilersLockOf(folder), 'make', `-j${availableParallelism()}`, ...args, 'modules'];
  const onOutput = (text: string): void => {
    for (const _ of text.matchAll(COMPILED)) build.onCompiled?.();
  };
  const result = await tryRun('flock', command, { env: environment, onOutput });
  if (result.status === 0) return;
  // An ordinary failure leaves nothing half-written: make removes what it was making.
  if (result.status !== null) rmSync(join(folder, UNFINISHED));
  const places = [sources, ...uses.map((used) => used.sources)];
  const origins = places.map(({ name, directory }) => [join(folder, SOURCE, name), directory] as const);
  const messages = readMessages(`${result.stdout}\n${result.stderr}`, tree, [...origins, [join(folder, HEADERS), '']]);
  throw new ModuleBuildError(sources.directory, toolchain.release, messages);
}

function touch(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

/** Removes build folders that were not used for long. Lock files stay: a run may wait for one. */
async function prune(): Promise<void> {
  const folders = readdirSync(buildsRoot()).map((name) => join(buildsRoot(), name));
  const used = (folder: string): number => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sorted = folders.map((folder) => ({ folder, usedMs: used(folder) })).sort((a, b) => b.usedMs - a.usedMs);
  for (const { folder, usedMs } of sorted.slice(KEPT)) {
    if (Date.now() - usedMs < IN_USE_MS) continue;
    await withLockIfFree(lockOf(folder), async () => rmSync(folder, { recursive: true, force: true }));
  }
}
