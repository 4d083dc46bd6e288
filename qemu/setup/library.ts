// SPDX-License-Identifier: Apache-2.0
/**
 * libvfio-user as a shared library: the copy in Debian trixie's qemu source, with the patches of
 * protocol/vfio-user/patches applied in name order, built by meson and ninja. The folder also keeps
 * the headers and the patched sources, for the C programs of the benchmark. Called by set-up; the
 * binding in protocol/vfio-user loads the path that this returns.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { listFiles } from './files.ts';
import { dropFiles, fetchFiles, withRequest } from './packages.ts';
import { run } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/** The paths of the library, its headers and its sources. */
export interface VfioUserLibrary {
  /** The shared library to load. */
  readonly path: string;
  /** The folder with libvfio-user.h; absent when the user gave a library of their own. */
  readonly includeDirectory?: string;
  /** The patched source tree; absent when the user gave a library of their own. */
  readonly sourceDirectory?: string;
}

const RECIPE_VERSION = 1;
const PATCHES = resolve(dirname(fileURLToPath(import.meta.url)), '../../protocol/vfio-user/patches');
const SHARED_OBJECT = 'lib/libvfio-user.so.0';

/** The library named by LIBVFIO_USER, or the one built from Debian's source and the patches. */
export async function provideLibrary(environment: NodeJS.ProcessEnv = process.env): Promise<VfioUserLibrary> {
  const chosen = environment.LIBVFIO_USER;
  if (chosen) {
    if (existsSync(chosen)) return { path: resolve(chosen) };
    throw new SetupError(
      `LIBVFIO_USER names ${chosen}, which does not exist; correct it, or unset it to have one built.`,
    );
  }
  const directory = await withRequest(
    'qemu-source',
    { kind: 'upstream-source', names: ['qemu/trixie'] },
    async (files) =>
      provide({
        name: 'libvfio-user',
        key: [RECIPE_VERSION, files.map((file) => file.sha256), readPatches()],
        outputs: [SHARED_OBJECT, 'include/libvfio-user.h', 'source/lib/libvfio-user.c'],
        build: async (target, finalTarget) => {
          const [archive] = (await fetchFiles(files)) as [string];
          await buildLibrary(archive, target, finalTarget);
          dropFiles(files);
        },
      }),
  );
  return {
    path: join(directory, SHARED_OBJECT),
    includeDirectory: join(directory, 'include'),
    sourceDirectory: join(directory, 'source'),
  };
}

/** Name and text of each patch, in the order they are applied. */
function readPatches(): { name: string; text: string }[] {
  if (!existsSync(PATCHES)) return [];
  const names = listFiles(PATCHES, /\.patch$/);
  return names.map((name) => ({ name, text: readFileSync(join(PATCHES, name), 'utf8') }));
}

async function buildLibrary(archive: string, target: string, finalTarget: string): Promise<void> {
  const source = join(target, 'source');
  mkdirSync(source);
  const pick = ['--wildcards', '--strip-components=3', '*/subprojects/libvfio-user/*'];
  await run('tar', ['--extract', '--xz', '--file', archive, '--directory', source, ...pick]);
  for (const patch of readPatches()) {
    const onFailure = `protocol/vfio-user/patches/${patch.name} does not apply to Debian's libvfio-user; correct the patch.`;
    await run('patch', ['-p1', '--no-backup-if-mismatch'], { cwd: source, input: patch.text, onFailure });
  }
  keepLibraryOnly(join(source, 'meson.build'));
  const build = join(target, 'build');
  // Release: the debug build adds -Werror and prints each message. The symbols stay, for gdb.
  const cFlags = `-Dc_args=-g -ffile-prefix-map=${target}=${finalTarget}`;
  const flags = ['--buildtype=release', cFlags, '-Dc_std=gnu11', '--default-library=both', '--prefix=/usr'];
  await run('meson', ['setup', build, source, '--libdir=lib', ...flags]);
  await run('ninja', ['-C', build]);
  await run('meson', ['install', '-C', build, '--no-rebuild', '--destdir', join(target, 'install')]);
  cpSync(join(target, 'install/usr/lib'), join(target, 'lib'), { recursive: true, verbatimSymlinks: true });
  cpSync(join(source, 'include'), join(target, 'include'), { recursive: true });
  for (const scratch of ['build', 'install']) rmSync(join(target, scratch), { recursive: true });
}

/**
 * Removes tests, samples and documentation from the build: they need packages that the library does
 * not.
 */
function keepLibraryOnly(mesonBuild: string): void {
  const lines = readFileSync(mesonBuild, 'utf8').split('\n');
  const unwanted = /^(subdir\('(samples|test|docs)'\)|cmocka_dep = |(pytest|flake8|rstlint|valgrind) = )/;
  writeFileSync(mesonBuild, lines.filter((line) => !unwanted.test(line)).join('\n'));
}
