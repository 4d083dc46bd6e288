// SPDX-License-Identifier: Apache-2.0
/**
 * Compiles this project's kernel modules for the stock kernel. The source folders are copied side
 * by side and built as one external module tree, so that a module may use another's exported
 * symbols, and its headers as `../NAME/x.h`. Warnings are errors. The result is cached by the
 * content of the sources. Called by set-up and by the builders of initramfs images.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { provide } from './cache.ts';
import { tryRun } from './command.ts';
import { SetupError } from './errors.ts';
import type { KernelModule } from './guest-kernel.ts';
import { type KernelToolchain, provideKernelToolchain } from './kernel-toolchain.ts';

/** A compiled module; `path` has no debug information, so that an initramfs stays small. */
export interface BuiltKernelModule extends KernelModule {
  /** The same module with debug information, for gdb. */
  readonly debugPath: string;
}

const RECIPE_VERSION = 1;
const SOURCE_FILE = /^(Kbuild|Makefile)$|\.(c|h|S)$/;
const LIST = 'modules.json';

/**
 * Compiles the modules of `directories`, each with a Kbuild file, in the order given. Throws
 * SetupError with the messages of the compiler when a source has an error or a warning.
 */
export async function buildKernelModules(directories: readonly string[]): Promise<BuiltKernelModule[]> {
  const toolchain = await provideKernelToolchain();
  const sources = directories.map((directory) => readSources(resolve(directory)));
  const artifact = await provide({
    name: 'kernel-modules',
    key: [RECIPE_VERSION, toolchain.directory, sources.map(({ name, files }) => [name, files])],
    outputs: [LIST],
    keep: 8,
    build: (target, finalTarget) => compile(toolchain, sources, target, finalTarget),
  });
  const names = JSON.parse(readFileSync(join(artifact, LIST), 'utf8')) as string[];
  return names.map((name) => ({
    name,
    path: join(artifact, `${name}.ko`),
    debugPath: join(artifact, 'debug', `${name}.ko`),
  }));
}

/** The folder with the object files of `module`, one for each source file of `directory`. */
export function objectDirectory(module: BuiltKernelModule, directory: string): string {
  return join(dirname(module.path), 'source', basename(directory));
}

interface ModuleSources {
  readonly name: string;
  readonly directory: string;
  /** Relative path and text of each source file, in order. */
  readonly files: readonly (readonly [path: string, text: string])[];
}

function readSources(directory: string): ModuleSources {
  const paths = (readdirSync(directory, { recursive: true }) as string[])
    .filter((path) => SOURCE_FILE.test(basename(path)) && !path.endsWith('.mod.c'))
    .sort();
  if (!paths.includes('Kbuild')) throw new SetupError(`${directory} has no Kbuild file; name its modules there.`);
  const files = paths.map((path) => [path, readFileSync(join(directory, path), 'utf8')] as const);
  return { name: basename(directory), directory, files };
}

async function compile(
  toolchain: KernelToolchain,
  sources: readonly ModuleSources[],
  target: string,
  finalTarget: string,
): Promise<void> {
  const tree = join(target, 'source');
  for (const { name, directory, files } of sources) {
    for (const [path] of files) {
      mkdirSync(join(tree, name, path, '..'), { recursive: true });
      copyFileSync(join(directory, path), join(tree, name, path));
    }
  }
  writeFileSync(join(tree, 'Kbuild'), sources.map(({ name }) => `obj-m += ${name}/\n`).join(''));
  await make(toolchain, tree, target, finalTarget);
  const built = readFileSync(join(tree, 'modules.order'), 'utf8').trim().split('\n');
  mkdirSync(join(target, 'debug'));
  const names = built.map((path) =>
    basename(path)
      .replace(/\.(ko|o)$/, '')
      .replaceAll('-', '_'),
  );
  for (const [i, path] of built.entries()) {
    const name = names[i] as string;
    const debug = join(target, 'debug', `${name}.ko`);
    renameSync(resolve(tree, path.replace(/\.o$/, '.ko')), debug);
    const strip = join(toolchain.programs, 'x86_64-linux-gnu-strip');
    const result = await tryRun(strip, ['--strip-debug', '-o', join(target, `${name}.ko`), debug]);
    if (result.status !== 0) throw new SetupError(`cannot strip ${name}.ko: ${result.stderr}`);
  }
  writeFileSync(join(target, LIST), JSON.stringify(names));
}

async function make(toolchain: KernelToolchain, tree: string, target: string, finalTarget: string): Promise<void> {
  const flags = `-Werror -ffile-prefix-map=${target}=${finalTarget}`;
  const args = ['-C', toolchain.kernelDirectory, `M=${tree}`, 'W=1', `KCFLAGS=${flags}`, 'modules'];
  const environment = { ...process.env, PATH: `${toolchain.programs}:${process.env.PATH ?? ''}`, LC_ALL: 'C' };
  for (const name of ['MAKEFLAGS', 'KBUILD_OUTPUT', 'ARCH', 'CROSS_COMPILE', 'CC'])
    delete (environment as NodeJS.ProcessEnv)[name];
  const result = await tryRun('make', [`-j${availableParallelism()}`, ...args], { env: environment });
  if (result.status === 0) return;
  const said = `${result.stdout}\n${result.stderr}`.replaceAll(`${tree}/`, '');
  const lines = said.split('\n').filter((line) => !/^\s*(CC|LD|MODPOST|BTF|make)\b/.test(line.trim()));
  throw new SetupError(
    `the kernel modules do not compile; correct what the compiler reports:\n${lines.join('\n').trim()}`,
  );
}
