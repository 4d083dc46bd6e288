// SPDX-License-Identifier: Apache-2.0
/**
 * The names of the packages that a user has added to Debian's user space, in the root itself, and
 * beside its image. Called by package-set.ts, distribution.ts and cache-contents.ts.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The file with a name a line, in a root or beside an image. */
export const SET_NAMES = 'etc/vuhca/packages';

export function writeSetNames(folder: string, names: readonly string[]): void {
  const path = join(folder, SET_NAMES);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${names.join('\n')}\n`);
}

/** The names with commas between; undefined when the folder has no such packages. */
export function readSetNames(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, SET_NAMES), 'utf8').trim().split('\n').join(',');
  } catch {
    return undefined;
  }
}
