// SPDX-License-Identifier: Apache-2.0
/**
 * Uses of other folders by the sources of a kernel module: the headers that they include, directly
 * or not, and whether they name a symbol that the other module exports. Read from the text, so a
 * module that only includes headers of another one does not wait for it. Called by
 * kernel-modules.ts.
 */
import { basename } from 'node:path';
import { headersOf, isMakefile, type ModuleSources, type SourceFile } from './module-sources.ts';

/** A use of another folder by a module. */
export interface ModuleUse {
  readonly other: ModuleSources;
  /** The headers of the other folder that it includes, and those that these include. */
  readonly headers: readonly SourceFile[];
  /** Whether it is linked against the other module's exported symbols. */
  readonly symbols: boolean;
}

const INCLUDE = /^\s*#\s*include\s*["<]([^">\n]+)[">]/gm;
/** `#include NAME`, where a macro has the name. */
const COMPUTED_INCLUDE = /^\s*#\s*include\s+\w/m;
/** A makefile may have the compiler include a header. */
const HEADER_NAME = /[\w./-]+\.h\b/g;
const EXPORT = /\bEXPORT_SYMBOL\w*\(\s*(\w+)/g;
const WORD = /\w+/g;

/** The uses of `others` by `sources`; a folder without a use is left out. */
export function findUses(sources: ModuleSources, others: readonly ModuleSources[]): ModuleUse[] {
  const included = findHeaders(sources, others);
  const wanted = wordsOf(sources);
  const uses = others.toReversed().map((other) => {
    const symbols = exportsOf(other).filter((symbol) => wanted.has(symbol));
    // The nearest folder gives a symbol that several export.
    for (const symbol of symbols) wanted.delete(symbol);
    return {
      other,
      headers: headersOf(other).filter((header) => included.has(header)),
      symbols: symbols.length > 0,
    };
  });
  return uses.reverse().filter(({ headers, symbols }) => headers.length > 0 || symbols);
}

/** Whether a source file of the module has the word. */
export function hasWord(sources: ModuleSources, word: string): boolean {
  return wordsOf(sources).has(word);
}

/** The headers of `others` that `sources` includes. A header of its own hides those of its name. */
function findHeaders(sources: ModuleSources, others: readonly ModuleSources[]): Set<SourceFile> {
  const own = new Set(headersOf(sources).map(nameOf));
  const candidates = others.flatMap(headersOf).filter((header) => !own.has(nameOf(header)));
  const found = new Set<SourceFile>();
  const visit = (file: SourceFile): void => {
    const names = includesOf(file);
    for (const header of candidates) {
      if (found.has(header) || (names !== undefined && !names.has(nameOf(header)))) continue;
      found.add(header);
      visit(header);
    }
  };
  for (const file of sources.files) visit(file);
  return found;
}

/** The names of the headers that the file includes; undefined when they cannot be told. */
function includesOf(file: SourceFile): Set<string> | undefined {
  const text = file.content.toString('latin1');
  if (isMakefile(file.path)) return new Set(Array.from(text.matchAll(HEADER_NAME), ([path]) => basename(path)));
  if (COMPUTED_INCLUDE.test(text)) return undefined;
  return new Set(Array.from(text.matchAll(INCLUDE), ([, path]) => basename(path as string)));
}

function exportsOf({ files }: ModuleSources): string[] {
  return files.flatMap(({ content }) =>
    Array.from(content.toString('latin1').matchAll(EXPORT), ([, name]) => name as string),
  );
}

function wordsOf({ files }: ModuleSources): Set<string> {
  return new Set(files.flatMap(({ content }) => content.toString('latin1').match(WORD) ?? []));
}

function nameOf({ path }: SourceFile): string {
  return basename(path);
}
