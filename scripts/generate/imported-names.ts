// SPDX-License-Identifier: Apache-2.0
/**
 * Finds the names that sources import from generated modules, so that only these are generated. It
 * reads the import statements as text: a parser needs most of a minute for as many files, and a
 * form that is not found here is a compile error (`npm run typecheck`). Called by main.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type GeneratedModule, namesOf, type WantedNames } from './generated-module.ts';

/** Imports that no table can satisfy, each on a line. */
export class ImportError extends Error {}

/** Imports of generated modules. */
export class GeneratedImports {
  /** Path of the module, then name or ALL, then the first source that imports it. */
  readonly #importers = new Map<string, Map<string, string>>();

  /** Adds the imports of a source; `path` is relative to the repository, with forward slashes. */
  add(path: string, text: string): void {
    for (const pattern of [STATIC_IMPORT, DYNAMIC_IMPORT]) {
      for (const { groups } of text.matchAll(pattern)) {
        const { names, module = '' } = groups ?? {};
        const target = posix.join(posix.dirname(path), module);
        for (const name of names === undefined ? [ALL] : importedNames(names)) this.#note(target, name, path);
      }
    }
  }

  /** What a module must export. */
  wantedFrom(module: string): WantedNames {
    const importers = this.#importers.get(module);
    return importers?.has(ALL) ? 'all' : new Set(importers?.keys());
  }

  /**
   * Throws ImportError if a source imports a name of no table; `modules` are those of `folders`.
   */
  check(folders: readonly string[], modules: ReadonlyMap<string, GeneratedModule>): void {
    const lines = [...this.#importers]
      .filter(([path]) => folders.includes(posix.dirname(path)))
      .flatMap(([path, importers]) => {
        const module = modules.get(path);
        return module === undefined
          ? [`${[...importers.values()][0]} imports ${path}, and no table has this name`]
          : missingNames(path, importers, namesOf(module));
      });
    if (lines.length > 0) throw new ImportError(lines.join('\n'));
  }

  #note(module: string, name: string, importer: string): void {
    const importers = this.#importers.get(module) ?? new Map<string, string>();
    this.#importers.set(module, importers);
    if (!importers.has(name)) importers.set(name, importer);
  }
}

/** Represents all names of a module. */
const ALL = '*';
const MODULE = String.raw`(?<quote>['"])(?<module>\.[^'"]*\.gen\.ts)\k<quote>`;
/** `import { a, type b } from`, `export { a } from`, `export * from`, `import * as m from`. */
const STATIC_IMPORT = new RegExp(
  String.raw`^(?:import|export)\s+(?:type\s+)?(?:\{(?<names>[^}]*)\}|\*(?:\s+as\s+\w+)?)\s*from\s*${MODULE}`,
  'gm',
);
/** `const { a, b: c } = await import()`; any other `import()` names the whole module. */
const DYNAMIC_IMPORT = new RegExp(String.raw`(?:\{(?<names>[^{}]*)\}\s*=\s*await\s+)?\bimport\(\s*${MODULE}`, 'g');
/** Folders without sources of this repository. */
const NOT_SOURCES = /^(?:node_modules|build|dist|docs)$|^\./;
const SHOWN_MAX = 3;

/** The imports of all sources at `root`, tests included, in the order of their paths. */
export function findImports(root: string): GeneratedImports {
  const imports = new GeneratedImports();
  for (const path of listSources(root)) {
    const text = readFileSync(join(root, path), 'utf8');
    if (text.includes('.gen.ts')) imports.add(path, text);
  }
  return imports;
}

function listSources(root: string): string[] {
  const folders = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !NOT_SOURCES.test(entry.name),
  );
  const paths = folders.flatMap(({ name }) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => `${name}/${path}`),
  );
  return paths.filter((path) => /(?<!\.gen)\.(?:ts|mjs)$/.test(path)).sort();
}

/** `a, type b, c as d` without the renaming. */
function importedNames(list: string): string[] {
  return [...list.matchAll(/(?:^|,)\s*(?:type\s+)?(\w+)/g)].map(([, name]) => name);
}

function missingNames(path: string, importers: ReadonlyMap<string, string>, names: ReadonlySet<string>): string[] {
  return [...importers]
    .filter(([name]) => name !== ALL && !names.has(name))
    .map(([name, importer]) => `${importer} imports ${name}; ${path} can have ${nearest(name, names)}`);
}

/** Those of `names` that share the longest beginning with `name`. */
function nearest(name: string, names: ReadonlySet<string>): string {
  const shared = (other: string): number => {
    let length = 0;
    while (length < name.length && other[length] === name[length]) length++;
    return length;
  };
  return [...names]
    .sort((a, b) => shared(b) - shared(a))
    .slice(0, SHOWN_MAX)
    .join(', ');
}
