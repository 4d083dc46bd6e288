// SPDX-License-Identifier: Apache-2.0
/**
 * The source files of a kernel module, read at one time, and their copy in a build folder. A copy
 * keeps its time of modification while its content stays, so that make compiles again only what has
 * changed; a changed file gets the present time, even when its original is older than the object
 * file. Called by kernel-modules.ts and module-build.ts.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SetupError } from './tools/errors.ts';

/** One source file. */
export interface SourceFile {
  /** Relative to the module's folder. */
  readonly path: string;
  readonly content: Buffer;
}

/** A module's folder and its files, sorted by path. */
export interface ModuleSources {
  /** The folder's own name; other modules include headers as `../NAME/x.h`. */
  readonly name: string;
  readonly directory: string;
  readonly files: readonly SourceFile[];
}

const SOURCE_FILE = /^(Kbuild|Makefile|Kconfig)|\.(c|h|S|inc|def|lds|mk)$|_shipped$/;
const MAKEFILE = /^(Kbuild|Makefile)|\.mk$/;
const GENERATED = /\.mod\.c$/;

/**
 * Reads the source files of `directory`. Throws SetupError when it has no Kbuild file and no
 * Makefile that names a module.
 */
export function readSources(directory: string): ModuleSources {
  const root = resolve(directory);
  if (!existsSync(root)) throw new SetupError(`there is no folder ${directory}; correct the path of the module.`);
  const files = listSources(root).map((path) => ({ path, content: readFileSync(join(root, path)) }));
  const makefile = files.find(({ path }) => path === 'Kbuild') ?? files.find(({ path }) => path === 'Makefile');
  if (makefile === undefined || !/^[ \t]*obj-(m|y|\$)/m.test(makefile.content.toString())) {
    const example = `obj-m := ${basename(root)}.o`;
    throw new SetupError(`${directory} names no module; write a file Kbuild there, for instance: ${example}`);
  }
  return { name: basename(root), directory: root, files };
}

/** Those of a module's files that another module may include. */
export function headersOf({ files }: ModuleSources): SourceFile[] {
  return files.filter(({ path }) => path.endsWith('.h'));
}

/** Whether the file at `path` tells the kernel's build what to compile. */
export function isMakefile(path: string): boolean {
  return MAKEFILE.test(basename(path));
}

/** Data that are equal for equal files, for the key of a recipe. */
export function digestFiles(files: readonly SourceFile[]): string[] {
  return files.map(({ path, content }) => `${path} ${createHash('sha256').update(content).digest('hex')}`);
}

/** Makes the source files in `target` those of `files`; other files there stay. */
export function syncFiles(files: readonly SourceFile[], target: string): void {
  mkdirSync(target, { recursive: true });
  const wanted = new Set(files.map(({ path }) => path));
  for (const path of listSources(target)) if (!wanted.has(path)) rmSync(join(target, path));
  for (const { path, content } of files) {
    const copy = join(target, path);
    if (existsSync(copy) && readFileSync(copy).equals(content)) continue;
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, content);
  }
}

/** Paths of the source files below `root`, sorted; hidden folders are left out. */
function listSources(root: string, below = ''): string[] {
  const paths = readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules') return [];
    if (entry.isDirectory()) return isOtherModule(root, path) ? [] : listSources(root, path);
    return SOURCE_FILE.test(entry.name) && !GENERATED.test(entry.name) ? [path] : [];
  });
  return paths.sort();
}

/** Whether a folder has a module of its own, which the Kbuild above does not build. */
function isOtherModule(root: string, path: string): boolean {
  const above = join(root, dirname(path), 'Kbuild');
  return (
    existsSync(join(root, path, 'Kbuild')) &&
    existsSync(above) &&
    !readFileSync(above, 'utf8').includes(`${basename(path)}/`)
  );
}
