// SPDX-License-Identifier: Apache-2.0
/**
 * The page of `vuhca view` as files for its server: one document, one script, one style sheet, and
 * nothing inline, so that it suits the strictest Content-Security-Policy. A clone bundles them from
 * scripts/page when the server starts; an archive has them in dist/view, where main.ts wrote them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { colourRules } from './colour-rules.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const SOURCES = join(ROOT, 'scripts/page');
const PACKED = join(ROOT, 'dist/view');
/** Only a clone has it. */
const BOOTSTRAP = join(ROOT, 'scripts/bootstrap.mjs');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  /** Its Content-Type. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** By the path of a request; `/` is the document. */
export type Page = ReadonlyMap<string, PageFile>;

let provided: Promise<Page> | undefined;

/**
 * The page of this version: that of the archive, or one made from the sources of a clone, once in a
 * process.
 */
export function providePage(): Promise<Page> {
  provided ??= existsSync(BOOTSTRAP) ? buildPage() : Promise.resolve(readPage(PACKED));
  return provided;
}

/** Writes the page into a folder, which is made if absent. */
export function writePage(page: Page, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, { bytes }] of page) writeFileSync(join(folder, path === '/' ? 'index.html' : path), bytes);
}

/** The page that `writePage` has written. */
export function readPage(folder: string): Page {
  return pageOf(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

/** Bundles the sources. Throws the error of esbuild, which has printed what is wrong. */
export async function buildPage(): Promise<Page> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: SOURCES,
    entryPoints: ['page.tsx', 'page.css'],
    outdir: PACKED,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const bundled = outputFiles.map(({ path, contents, text }): [string, Uint8Array] => {
    const name = path.slice(PACKED.length + 1);
    return [name, extname(name) === '.css' ? Buffer.from(colourRules() + text) : contents];
  });
  return pageOf([...bundled, ...['index.html', 'icon.svg'].map(readSource)]);
}

function readSource(name: string): [string, Uint8Array] {
  return [name, readFileSync(join(SOURCES, name))];
}

function pageOf(files: readonly (readonly [name: string, bytes: Uint8Array])[]): Page {
  return new Map(
    files.map(([name, bytes]) => [name === 'index.html' ? '/' : `/${name}`, { type: TYPES[extname(name)], bytes }]),
  );
}
