// SPDX-License-Identifier: Apache-2.0
/**
 * Imports of the files with JSX, which the parser of dependency-cruiser does not read. They are
 * found line by line, as the style rules find them (scripts/check-style/layers.ts). Called by
 * cruise.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A file and what it imports from the repository, as paths from its root. */
export interface TsxFile {
  readonly source: string;
  readonly targets: readonly string[];
}

const IMPORTED = /\bfrom\s+['"](\.[^'"]+)['"]|\bimport\(?\s*['"](\.[^'"]+)['"]/g;

/** The files below `folders`, which are relative to `root`. */
export function readTsxFiles(root: string, folders: readonly string[]): TsxFile[] {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.tsx') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  );
  return files.sort().map((source) => {
    const imports = [...readFileSync(join(root, source), 'utf8').matchAll(IMPORTED)];
    return { source, targets: imports.map(([, from, called]) => normalize(join(dirname(source), from ?? called))) };
  });
}

/** The first circle among the files, from a file back to itself. */
export function findCircle(files: readonly TsxFile[]): readonly string[] | undefined {
  const targetsOf = new Map(files.map(({ source, targets }) => [source, targets]));
  const done = new Set<string>();
  const visit = (source: string, way: readonly string[]): readonly string[] | undefined => {
    if (way.includes(source)) return [...way.slice(way.indexOf(source)), source];
    if (done.has(source)) return undefined;
    done.add(source);
    return firstOf(targetsOf.get(source) ?? [], (target) => visit(target, [...way, source]));
  };
  return firstOf([...targetsOf.keys()], (source) => visit(source, []));
}

function firstOf<Item, Result>(items: readonly Item[], find: (item: Item) => Result | undefined): Result | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
