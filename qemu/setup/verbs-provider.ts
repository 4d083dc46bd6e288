// SPDX-License-Identifier: Apache-2.0
/**
 * The user-space provider of the adapter (guest-tests/provider) as the plug-in that Debian 13's
 * libibverbs loads, compiled by one command against provider-headers.ts. Called by code that packs
 * a guest with Debian's user space (distribution-guest.ts).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { listFiles } from './files.ts';
import { type ProviderHeaders, provideProviderHeaders } from './provider-headers.ts';
import { run } from './tools/command.ts';

/** The plug-in, and where libibverbs looks for it and for its name. */
export interface VerbsProvider {
  readonly path: string;
  readonly guestPath: string;
  readonly configPath: string;
  readonly configText: string;
}

const RECIPE_VERSION = 1;
const NAME = 'vuhca';
/** The number is that of the interface between libibverbs and providers. */
const LIBRARY = `lib${NAME}-rdmav34.so`;
const DRIVER = fileURLToPath(new URL('../../guest-tests/driver', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../guest-tests/provider', import.meta.url));
const ABI = 'vuhca-abi.h';
const PROGRAM = 'program';
/** The headers of the adapter and of the kernel module. */
const SHARED = [join(DRIVER, 'vuhca_hw.h'), join(DRIVER, 'ib', ABI)];
const WARNINGS = [
  ...['-Wall', '-Wextra', '-Werror', '-Wmissing-prototypes', '-Wno-unused-parameter', '-Wno-sign-compare'],
];
/**
 * Symbols of the library stay inside: libibverbs calls what the constructor registers. Calls
 * and returns are dear under TCG, so small functions become part of their callers.
 */
const FLAGS = ['-std=gnu11', '-O3', '-flto', '-g', '-shared', '-fPIC', '-fvisibility=hidden', '-include', 'config.h'];

/** Compiled when the cache lacks it. Throws CommandError with the messages of the compiler. */
export async function provideVerbsProvider(): Promise<VerbsProvider> {
  const headers = await provideProviderHeaders();
  const names = listFiles(SOURCES, /\.[ch]$/);
  const files = [...names.map((name) => join(SOURCES, name)), ...SHARED];
  const directory = await provide({
    name: 'verbs-provider',
    key: [RECIPE_VERSION, headers.sysroot, FLAGS, files.map((path) => readFileSync(path, 'utf8'))],
    outputs: [LIBRARY],
    label: 'compiling the verbs provider',
    build: (target) => compile(headers, target),
  });
  return {
    path: join(directory, LIBRARY),
    guestPath: `/usr/lib/x86_64-linux-gnu/libibverbs/${LIBRARY}`,
    configPath: `/etc/libibverbs.d/${NAME}.driver`,
    configText: `driver ${NAME}\n`,
  };
}

/**
 * A program of this machine: the source at `path` together with files of the provider. The headers
 * are those of the guest, the C library is the machine's own. Throws CommandError.
 */
export async function provideProviderProgram(path: string, units: readonly string[]): Promise<string> {
  const headers = await provideProviderHeaders();
  const sources = [...units.map((name) => join(SOURCES, name)), path];
  const files = [...listFiles(SOURCES, /\.h$/).map((name) => join(SOURCES, name)), ...SHARED, ...sources];
  const directory = await provide({
    name: 'provider-program',
    key: [RECIPE_VERSION, headers.sysroot, files.map((file) => readFileSync(file, 'utf8'))],
    outputs: [PROGRAM],
    label: 'compiling a program of the verbs provider',
    build: async (target) => {
      const flags = ['-std=gnu11', '-O2', '-c', '-include', 'config.h', ...WARNINGS];
      const folders = await includeFolders(headers, target);
      const objects = sources.map((_, index) => join(target, `${index}.o`));
      for (const [index, source] of sources.entries())
        await run('gcc', [`--sysroot=${headers.sysroot}`, ...flags, ...folders, '-o', objects[index], source]);
      await run('gcc', ['-o', join(target, PROGRAM), ...objects]);
    },
  });
  return join(directory, PROGRAM);
}

/** Words for the compiler. Makes the header of the interface with the kernel below `target`. */
async function includeFolders(headers: ProviderHeaders, target: string): Promise<string[]> {
  const made = join(target, 'include');
  mkdirSync(join(made, 'kernel-abi'), { recursive: true });
  await run('python3', [headers.abiScript, join(DRIVER, 'ib', ABI), join(made, 'kernel-abi', ABI)]);
  return [made, headers.include, DRIVER, join(DRIVER, 'ib'), SOURCES].map((folder) => `-I${folder}`);
}

async function compile(headers: ProviderHeaders, target: string): Promise<void> {
  const folders = await includeFolders(headers, target);
  const sources = listFiles(SOURCES, /\.c$/);
  await run('gcc', [
    ...[`--sysroot=${headers.sysroot}`, ...FLAGS, ...WARNINGS, ...folders, '-o', join(target, LIBRARY)],
    ...[...sources.map((name) => join(SOURCES, name)), headers.libibverbs, '-lpthread'],
  ]);
  const symbols = await run('nm', ['--dynamic', '--undefined-only', join(target, LIBRARY)]);
  writeFileSync(join(target, 'symbols.txt'), symbols);
}
