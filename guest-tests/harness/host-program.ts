// SPDX-License-Identifier: Apache-2.0
/**
 * Programs of guest-tests/wraps, which include C files of the driver or of the provider: compiled
 * by gcc and run on the host.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FLAGS = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-pthread'];
/** vuhca_hw.h, for files of the provider. */
const INCLUDES = ['-I', pathOf('../driver')];

/**
 * Compiles `guest-tests/wraps/NAME.c` and returns the path of the program in `folder`. `flags`:
 * more of gcc's. Throws with the compiler's messages.
 */
export function compileForHost(folder: string, name: string, flags: readonly string[]): string {
  const program = join(folder, name);
  execFileSync('gcc', [...FLAGS, ...INCLUDES, ...flags, '-o', program, pathOf(`../wraps/${name}.c`)]);
  return program;
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
