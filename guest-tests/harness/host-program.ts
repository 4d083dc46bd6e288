// SPDX-License-Identifier: Apache-2.0
/**
 * Programs of guest-tests/wraps, which include C files of the driver or of the provider: compiled
 * by gcc and run on the host.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FLAGS = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-pthread'];
/** vuhca_hw.h, for files of the provider. */
const INCLUDES = ['-I', pathOf('../driver')];

/**
 * Compiles `guest-tests/wraps/NAME.c` and returns the path of the program in `folder`. `flags`:
 * more of gcc's. `headers`: names of the kernel's headers that files of the driver include, and
 * that are empty here. Throws with the compiler's messages.
 */
export function compileForHost(
  folder: string,
  name: string,
  flags: readonly string[],
  headers: readonly string[] = [],
): string {
  const program = join(folder, name);
  mkdirSync(join(folder, 'linux'));
  for (const header of headers) writeFileSync(join(folder, 'linux', `${header}.h`), '');
  const includes = [...INCLUDES, `-I${folder}`];
  execFileSync('gcc', [...FLAGS, ...includes, ...flags, '-o', program, pathOf(`../wraps/${name}.c`)]);
  return program;
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
