// SPDX-License-Identifier: Apache-2.0
/**
 * Compiles kernel modules for the guest's kernel. Each folder is built by itself and may use the
 * exported symbols and the headers of the folders before it. The result is cached by the content of
 * the sources, so an unchanged module costs a hash, and a module whose sources changed is compiled
 * where it was compiled before (module-build.ts). Called by set-up and by the builders of initramfs
 * images.
 */
import { constants, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { provide } from './cache.ts';
import { run } from './command.ts';
import { shorten } from './compiler-messages.ts';
import { SetupError } from './errors.ts';
import type { KernelModule } from './guest-kernel.ts';
import { type KernelToolchain, provideKernelToolchain } from './kernel-toolchain.ts';
import { buildModule, type ModuleBuild, type ModuleInterface, type ModuleObjects } from './module-build.ts';
import { digestFiles, headersOf, readSources } from './module-sources.ts';

/** A compiled module; `path` has no debug information, so that an initramfs stays small. */
export interface BuiltKernelModule extends KernelModule {
  /** The same module with debug information, for gdb. */
  readonly debugPath: string;
}

/** How to compile; every member is optional. */
export interface BuildOptions {
  /** That of the guest's kernel; of the default kernel when absent. */
  readonly toolchain?: KernelToolchain;
  /**
   * Whether warnings of the compiler count as errors, as for the modules of this project; otherwise
   * the compiler is asked for those of the kernel's own build and they are accepted. True for every
   * folder when absent.
   */
  strict?(directory: string): boolean;
}

const RECIPE_VERSION = 3;
const LIST = 'modules.json';
const SYMBOLS = 'Module.symvers';
const OBJECT_SYMBOLS = 'objects.txt';
/** Versions of modules that stay in the cache: those of all modules, newest use first. */
const KEPT = 16;
/** A version is packed into an image within seconds; only gdb needs its debug file for longer. */
const IN_USE_MS = 600_000;

/**
 * Compiles the modules of `directories`, each with a Kbuild file or Makefile, in the order given.
 * Throws ModuleBuildError with the messages of the compiler, SetupError for a folder without a
 * module.
 */
export async function buildKernelModules(
  directories: readonly string[],
  options: BuildOptions = {},
): Promise<BuiltKernelModule[]> {
  const built = await buildAll(directories, options);
  return built.flatMap(({ artifact }) => listModules(artifact));
}

/**
 * Compiles the same and returns for each of `directories` what `nm -A --extern-only` prints of its
 * object files, one for each source file; for checks of the calls between files.
 */
export async function readObjectSymbols(directories: readonly string[], options: BuildOptions = {}): Promise<string[]> {
  const built = await buildAll(directories, options);
  return built.map(({ artifact }) => readFileSync(join(artifact, OBJECT_SYMBOLS), 'utf8'));
}

interface Built {
  readonly build: ModuleBuild;
  readonly artifact: string;
}

/** One build for each folder; each may use the modules of those before it. */
async function buildAll(directories: readonly string[], options: BuildOptions): Promise<Built[]> {
  const all = directories.map(readSources);
  const twice = all.find(({ name }, i) => all.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) throw new SetupError(`two folders of modules are called ${twice.name}; rename one.`);
  const toolchain = options.toolchain ?? (await provideKernelToolchain());
  const uses: ModuleInterface[] = [];
  const built: Built[] = [];
  for (const sources of all) {
    const build = { sources, uses: [...uses], toolchain, strict: options.strict?.(sources.directory) ?? true };
    const artifact = await provideArtifact(build);
    uses.push({ sources, symbolsPath: join(artifact, SYMBOLS) });
    built.push({ build, artifact });
  }
  return built;
}

function provideArtifact(build: ModuleBuild): Promise<string> {
  const { sources, uses, toolchain, strict } = build;
  const interfaces = uses.map((used) => [digestFiles(headersOf(used.sources)), readFileSync(used.symbolsPath, 'utf8')]);
  return provide({
    name: 'kernel-modules',
    key: [RECIPE_VERSION, toolchain.identity, strict, sources.name, digestFiles(sources.files), interfaces],
    outputs: [LIST, SYMBOLS, OBJECT_SYMBOLS],
    label: `compiling ${shorten(sources.directory)} for Linux ${toolchain.release}`,
    keep: KEPT,
    inUseMs: IN_USE_MS,
    build: (target) => buildModule(build, (objects) => publish(objects, toolchain, target)),
  });
}

function listModules(artifact: string): BuiltKernelModule[] {
  const names = JSON.parse(readFileSync(join(artifact, LIST), 'utf8')) as string[];
  return names.map((name) => ({
    name,
    path: join(artifact, `${name}.ko`),
    debugPath: join(artifact, 'debug', `${name}.ko`),
  }));
}

/** Copies the modules and their symbols out of the build folder. */
async function publish(objects: ModuleObjects, toolchain: KernelToolchain, target: string): Promise<void> {
  const program = (name: string): string =>
    toolchain.programs === undefined ? name : join(toolchain.programs, `x86_64-linux-gnu-${name}`);
  mkdirSync(join(target, 'debug'));
  const names: string[] = [];
  for (const path of objects.modules) {
    const name = basename(path).replace(/\.ko$/, '').replaceAll('-', '_');
    const debug = join(target, 'debug', `${name}.ko`);
    copyFileSync(path, debug, constants.COPYFILE_FICLONE);
    await run(program('strip'), ['--strip-debug', '-o', join(target, `${name}.ko`), debug]);
    names.push(name);
  }
  copyFileSync(join(objects.directory, SYMBOLS), join(target, SYMBOLS));
  const files = (readdirSync(objects.directory, { recursive: true }) as string[]).filter((path) => /\.o$/.test(path));
  const symbols = await run(program('nm'), ['-A', '--extern-only', ...files.sort()], { cwd: objects.directory });
  writeFileSync(join(target, OBJECT_SYMBOLS), symbols);
  writeFileSync(join(target, LIST), JSON.stringify(names));
}
