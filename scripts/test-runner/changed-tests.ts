// SPDX-License-Identifier: Apache-2.0
/**
 * Tests that a change can affect, for `npm test -- --changed`. A TypeScript file reaches the tests
 * that import it, directly or not. Any other file reaches them through the files that name it: a
 * script, a document or a source of a guest is found by its name, or by the name of its folder in
 * guest-tests. Called by main.ts.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { findBase, git } from '../mutate/changed-lines.ts';
import { listFiles, ROOT } from './choose-tests.ts';

/** Files that everything depends on. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig\.json|scripts\/bootstrap\.mjs)$/;

/**
 * Those of `tests` that files which differ from the commit `base` can affect, files that are not
 * committed included. Throws SetupError outside a clone.
 */
export async function chooseChanged(tests: readonly string[], base = findBase()): Promise<string[]> {
  const changed = [
    ...git('diff', '--name-only', base).split('\n'),
    ...git('ls-files', '--others', '--exclude-standard').split('\n'),
  ].filter((path) => path !== '');
  const files = listFiles('.ts');
  const texts = new Map(files.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
  return affectedTests(tests, changed, await readImports(files), texts);
}

/** What each file imports when it runs, also by import(); imports of types alone are not. */
export async function readImports(files: readonly string[]): Promise<Map<string, readonly string[]>> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    stdin: { contents: files.map((path) => `import './${path}';\n`).join(''), resolveDir: ROOT },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return new Map(Object.entries(metafile.inputs).map(([file, { imports }]) => [file, imports.map(({ path }) => path)]));
}

/**
 * Those of `tests` that a change of the files `changed` can affect. `imports` has what each file
 * imports, `texts` the TypeScript files that there are.
 */
export function affectedTests(
  tests: readonly string[],
  changed: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
  texts: ReadonlyMap<string, string>,
): string[] {
  if (changed.some((path) => EVERYTHING.test(path))) return [...tests];
  const begin = changed.flatMap((path) => (path.endsWith('.ts') ? [path] : filesThatName(path, texts)));
  const importers = new Map<string, string[]>();
  for (const [file, targets] of imports)
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file]);
  const reached = new Set(begin);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return tests.filter((test) => reached.has(test));
}

/** The files with the name of `path` in them, or that of its folder in guest-tests. */
function filesThatName(path: string, texts: ReadonlyMap<string, string>): string[] {
  const [, folder] = /^guest-tests\/([\w-]+)\//.exec(path) ?? [];
  const names = [basename(path), ...(folder === undefined ? [] : [folder])].map(quoted);
  const pattern = new RegExp(`(?<![\\w-])(${names.join('|')})(?![\\w-])`);
  // The adapter reads nothing of a guest, and has words such as `driver`, too.
  const readers = [...texts].filter(([file]) => folder === undefined || !/^(device|protocol)\//.test(file));
  return readers.filter(([, text]) => pattern.test(withoutComments(text))).map(([file]) => file);
}

/** A comment names much that its file does not read. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** `text` for a regular expression. */
function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
