// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's API is documented. The kernel's own `kernel-doc` finds no fault in any file, and
 * each exported function and each structure of the API headers has a kernel-doc comment.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { provideKernelToolchain } from '../qemu/setup/kernel-toolchain.ts';
import { tryRun } from '../qemu/setup/tools/command.ts';

const DRIVER = fileURLToPath(new URL('driver', import.meta.url));
/** Generated: its comments are beside each member. */
const GENERATED = 'vuhca_hw.h';

// The first run downloads the toolchain.
t.setTimeout(0);

t.test('kernel-doc finds no fault', async (t) => {
  const { status, stderr } = await kernelDoc(['-none', '-Wall', '-Werror', ...paths(sources())]);
  t.equal(status, 0, stderr);
});

t.test('every exported function is documented', async (t) => {
  const files = sources().filter((name) => name.endsWith('.c'));
  const exported = files.flatMap((name) => matches(read(name), /^EXPORT_SYMBOL_GPL\((\w+)\);$/gm));
  t.ok(exported.length > 50, `${exported.length} exported functions`);
  const { stdout } = await kernelDoc(['-rst', '-export', ...paths(files)]);
  const documented = new Set(matches(stdout, /^\.\. c:function:: .*?(\w+) \(/gm));
  t.same(
    exported.filter((name) => !documented.has(name)),
    [],
  );
});

t.test('every structure of the API is documented', async (t) => {
  const headers = matches(read('vuhca.h'), /^#include "(\w+\.h)"$/gm).filter((name) => name !== GENERATED);
  const structures = headers.flatMap((name) => matches(read(name), /^struct (\w+) \{$/gm));
  t.ok(structures.length > 20, `${structures.length} structures`);
  const { stdout } = await kernelDoc(['-rst', ...paths(headers)]);
  const documented = new Set(matches(stdout, /^\.\. c:(?:struct|type):: (?:struct )?(\w+)$/gm));
  t.same(
    structures.filter((name) => !documented.has(name)),
    [],
  );
});

async function kernelDoc(args: readonly string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const { kernelDirectory } = await provideKernelToolchain();
  return tryRun('perl', [join(kernelDirectory, 'scripts/kernel-doc'), ...args]);
}

/** The C files and headers of the driver that people write. */
function sources(): string[] {
  return readdirSync(DRIVER).filter((name) => /\.[ch]$/.test(name) && name !== GENERATED);
}

function read(name: string): string {
  return readFileSync(join(DRIVER, name), 'utf8');
}

function paths(names: readonly string[]): string[] {
  return names.map((name) => join(DRIVER, name));
}

/** The text of the first group of `pattern`, for each match. */
function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] as string);
}
