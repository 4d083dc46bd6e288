// SPDX-License-Identifier: Apache-2.0
/**
 * Compiles the benchmark's C programs with the machine's compiler, cached by their sources: the
 * twin against the same libvfio-user that the adapter loads, the probe without a library. Called by
 * raw.ts and guest.ts.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from '../../qemu/setup/cache.ts';
import type { VfioUserLibrary } from '../../qemu/setup/library.ts';
import { run, tryRun } from '../../qemu/setup/tools/command.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const HEADERS = join(HERE, '../../guest-tests/driver');
const FLAGS = ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-I', HEADERS];

/** The path of the compiled twin.c. */
export function provideTwin({ path, includeDirectory }: VfioUserLibrary): Promise<string> {
  if (includeDirectory === undefined) {
    throw new SetupError('the C twin needs the headers of libvfio-user; unset LIBVFIO_USER to have both built.');
  }
  return compile('twin', [`-I${includeDirectory}`, path, `-Wl,-rpath,${dirname(path)}`]);
}

/** The path of the compiled probe.c. */
export function provideProbe(): Promise<string> {
  return compile('probe', []);
}

async function compile(name: string, extra: readonly string[]): Promise<string> {
  const source = join(HERE, `${name}.c`);
  const compiler = await tryRun('cc', ['--version']);
  if (compiler.status !== 0) throw new SetupError('the benchmark needs a C compiler; install the package gcc.');
  const texts = [source, join(HEADERS, 'vuhca_hw.h')].map((path) => readFileSync(path, 'utf8'));
  const directory = await provide({
    name: `bench-${name}`,
    key: [compiler.stdout, FLAGS, extra, texts],
    outputs: [name],
    build: async (target) => {
      await run('cc', [...FLAGS, '-o', join(target, name), source, ...extra]);
    },
  });
  return join(directory, name);
}
