// SPDX-License-Identifier: Apache-2.0
/**
 * The programs of guest-tests/programs, compiled against Debian 13's C library and libibverbs
 * (provider-headers.ts) for a guest with Debian's user space. Called by code that packs such
 * guests.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { listFiles } from './files.ts';
import { provideProviderHeaders } from './provider-headers.ts';
import { run } from './tools/command.ts';

const RECIPE_VERSION = 1;
const SOURCES = fileURLToPath(new URL('../../guest-tests/programs', import.meta.url));
/** Each program is a file of its name, with what all of them share. */
const PROGRAMS = ['many-pairs', 'stream', 'flood', 'moderated', 'hostile'] as const;
const SHARED = 'pair.c';
/** The program that knows a provider, by this library of the same packages. */
const PROVIDER: Readonly<Partial<Record<VerbsProgram, string>>> = { hostile: 'libmlx5.so' };
const FLAGS = ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-Wmissing-prototypes'];

export type VerbsProgram = (typeof PROGRAMS)[number];

/**
 * Paths by name; compiled when the cache lacks them. Throws CommandError with the messages of the
 * compiler.
 */
export async function provideVerbsPrograms(): Promise<Readonly<Record<VerbsProgram, string>>> {
  const { sysroot, libibverbs } = await provideProviderHeaders();
  const texts = listFiles(SOURCES).map((name) => readFileSync(join(SOURCES, name), 'utf8'));
  const directory = await provide({
    name: 'verbs-programs',
    key: [RECIPE_VERSION, sysroot, FLAGS, texts],
    outputs: [...PROGRAMS],
    label: 'compiling programs for verbs',
    build: async (target) => {
      const folder = dirname(libibverbs);
      for (const program of PROGRAMS) {
        const sources = [`${program}.c`, SHARED].map((name) => join(SOURCES, name));
        // The compiler looks for libraries beside itself before it looks into its sysroot.
        const options = [`--sysroot=${sysroot}`, `-L${folder}`];
        const libraries = [PROVIDER[program] ?? [], basename(libibverbs)].flat().map((name) => join(folder, name));
        await run('gcc', [...options, ...FLAGS, '-o', join(target, program), ...sources, ...libraries]);
      }
    },
  });
  return Object.fromEntries(PROGRAMS.map((name) => [name, join(directory, name)])) as Record<VerbsProgram, string>;
}
