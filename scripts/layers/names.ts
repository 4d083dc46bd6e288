// SPDX-License-Identifier: Apache-2.0
/** Short names of layers: those that the rows are written with, and those that pages show. */
import type { Layer, Row } from './layer.ts';

/**
 * The layers of a table with the paths of their rows. Throws when a name is the end of no path, or
 * of several.
 */
export function resolveNames(rows: readonly Row[]): readonly Layer[] {
  const paths = rows.map(({ path }) => path);
  return rows.map((row) => ({
    ...row,
    uses: row.uses
      .split(' ')
      .filter(Boolean)
      .map((name) => findPath(name, paths, row.path)),
  }));
}

/** The shortest name that identifies `path` and no other path. */
export function shortName(path: string, paths: readonly string[]): string {
  const folders = path.split('/');
  const names = folders.map((_, index) => folders.slice(folders.length - 1 - index).join('/'));
  return names.find((name) => pathsNamed(name, paths).length === 1) ?? path;
}

function findPath(name: string, paths: readonly string[], user: string): string {
  const found = pathsNamed(name, paths);
  if (found.length === 1) return found[0];
  const meanings = found.length === 0 ? 'no layer' : found.join(' or ');
  throw new Error(`${user} uses "${name}", which means ${meanings}; name one of them`);
}

function pathsNamed(name: string, paths: readonly string[]): readonly string[] {
  if (paths.includes(name)) return [name];
  return paths.filter((path) => path.endsWith(`/${name}`));
}
