// SPDX-License-Identifier: Apache-2.0
/**
 * The files of a source folder. Editors and interpreters leave folders, links and sockets in source
 * folders (`__pycache__`); whoever packs or hashes a folder takes its files only.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Names of the regular files right in `folder` that match `pattern`, sorted. */
export function listFiles(folder: string, pattern = /./): string[] {
  const isFile = (name: string): boolean => statSync(join(folder, name), { throwIfNoEntry: false })?.isFile() ?? false;
  return readdirSync(folder)
    .filter((name) => pattern.test(name) && isFile(name))
    .sort();
}
