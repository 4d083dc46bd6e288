// SPDX-License-Identifier: Apache-2.0
/**
 * Compiles kernel modules for the guest's kernel. A folder may use the exported symbols and the
 * headers of the folders before it, and waits only for those whose symbols it uses. The result is
 * cached by the content of all that goes in, so an unchanged module costs a hash, and a module
 * whose sources changed is compiled where it was compiled before (module-build.ts). Called by
 * set-up and by the builders of initramfs images.
 */
import { constants, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import type { KernelModule } from './guest-kernel.ts';
import { type KernelToolchain, provideKernelToolchain } from './kernel-toolchain.ts';
import { buildModule, explainBuild, type ModuleBuild, type ModuleObjects, nameStep } from './module-build.ts';
import { ModuleBuilder } from './module-builder.ts';
import { digestFiles, readSources } from './module-sources.ts';
import { run } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

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
   * the compiler is asked for those of the kernel's own build and they are accepted. True for the
   * folders of this project when absent.
   */
  strict?(directory: string): boolean;
  /**
   * False compiles each file by itself, also in the modules of this project; nested compiles them
   * in parts that show whether each includes what it needs (joined-sources.ts).
   */
  readonly joined?: boolean | 'nested';
  /** Folders that the modules may use; each is compiled only when a module uses its symbols. */
  readonly mayUse?: readonly string[];
}

const RECIPE_VERSION = 4;
const LIST = 'modules.json';
const SYMBOLS = 'Module.symvers';
/** Folders with modules of this project. */
const OUR_FOLDERS = ['guest-tests/', 'scripts/'].map((name) =>
  fileURLToPath(new URL(`../../${name}`, import.meta.url)),
);
/** Versions of modules that stay in the cache, newest use first: all modules for three kernels. */
const KEPT = 48;
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
  return (await buildModuleFolders(directories, options)).flat();
}

/** The same; returns the modules of each of `directories`. */
export async function buildModuleFolders(
  directories: readonly string[],
  options: BuildOptions = {},
): Promise<BuiltKernelModule[][]> {
  return (await buildAll(directories, options)).map(listModules);
}

/** Compiles at the same time what does not wait for another module, and waits for all of it. */
async function buildAll(directories: readonly string[], options: BuildOptions): Promise<string[]> {
  const wanted = directories.map(readSources);
  const twice = wanted.find(({ name }, i) => wanted.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) throw new SetupError(`two folders of modules are called ${twice.name}; rename one.`);
  const lent = (options.mayUse ?? []).filter((folder) => !directories.includes(folder)).map(readSources);
  const toolchain = options.toolchain ?? (await provideKernelToolchain());
  const builder = new ModuleBuilder([...lent, ...wanted], async (sources, uses) => {
    const strict = options.strict?.(sources.directory) ?? isOurs(sources.directory);
    const interfaces = uses.map(({ artifact, ...used }) =>
      artifact === undefined ? used : { ...used, symbolsPath: join(artifact, SYMBOLS) },
    );
    return provideArtifact({
      sources,
      uses: interfaces,
      toolchain,
      strict,
      joined: strict && (options.joined ?? true),
    });
  });
  // A compiler that is killed in the middle would cost the next run a whole compile.
  const results = await Promise.allSettled(wanted.map((sources) => builder.provide(sources)));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** Whether the folder is one of this project. */
function isOurs(directory: string): boolean {
  return OUR_FOLDERS.some((folder) => directory.startsWith(folder));
}

function provideArtifact(build: ModuleBuild): Promise<string> {
  const { sources, uses, toolchain, strict, joined } = build;
  const interfaces = uses.map((used) => [
    used.sources.name,
    digestFiles(used.headers),
    used.symbolsPath === undefined ? '' : readFileSync(used.symbolsPath, 'utf8'),
  ]);
  let compiled = 0;
  const counted: ModuleBuild = { ...build, onCompiled: () => compiled++ };
  return provide({
    name: 'kernel-modules',
    key: [RECIPE_VERSION, toolchain.identity, strict, joined, sources.name, digestFiles(sources.files), interfaces],
    outputs: [LIST, SYMBOLS],
    label: nameStep(build),
    explain: () => ({
      ...explainBuild(build),
      getState: () => `${compiled} ${compiled === 1 ? 'file' : 'files'} compiled`,
    }),
    keep: KEPT,
    inUseMs: IN_USE_MS,
    build: (target) => buildModule(counted, (objects) => publish(objects, toolchain, target)),
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
  const strip = toolchain.programs === undefined ? 'strip' : join(toolchain.programs, 'x86_64-linux-gnu-strip');
  mkdirSync(join(target, 'debug'));
  const names: string[] = [];
  for (const path of objects.modules) {
    const name = basename(path).replace(/\.ko$/, '').replaceAll('-', '_');
    const debug = join(target, 'debug', `${name}.ko`);
    copyFileSync(path, debug, constants.COPYFILE_FICLONE);
    await run(strip, ['--strip-debug', '-o', join(target, `${name}.ko`), debug]);
    names.push(name);
  }
  copyFileSync(join(objects.directory, SYMBOLS), join(target, SYMBOLS));
  writeFileSync(join(target, LIST), JSON.stringify(names));
}
