// SPDX-License-Identifier: Apache-2.0
/** The bundled page is small, and suits the strictest Content-Security-Policy. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeDirectory } from '../../cli/testing/directory.ts';
import { ROLES } from '../../picture/colours.ts';
import { buildPage, type Page, readPage, writePage } from './build-page.ts';

const LARGEST_BYTES = 600_000;
const page = await buildPage();
const textOf = (path: string): string => Buffer.from(page.get(path)?.bytes ?? []).toString();

t.test('the page is one document, one script, one style sheet and an icon below 600 KB in all', async (t) => {
  t.same([...page.keys()].sort(), ['/', '/icon.svg', '/page.css', '/page.js']);
  t.same([...page.values()].map(({ type }) => type.split(';')[0]).sort(), [
    'image/svg+xml',
    'text/css',
    'text/html',
    'text/javascript',
  ]);
  const bytes = [...page.values()].reduce((sum, file) => sum + file.bytes.length, 0);
  t.ok(bytes < LARGEST_BYTES, `${bytes} bytes`);
});

t.test('the document has nothing inline, and names only files of the page', async (t) => {
  const document = textOf('/');
  const named = [...document.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, path]) => path);
  t.same(
    named.filter((path) => !page.has(path)),
    [],
  );
  t.notMatch(document, /\son\w+=|\sstyle=|<style|javascript:/i);
  t.same(
    [...document.matchAll(/<script[^>]*>([^<]*)/g)].map(([, content]) => content),
    [''],
  );
});

t.test('the script evaluates no text, writes no markup and names no other host', async (t) => {
  const script = textOf('/page.js');
  t.ok(script.length > 1000);
  t.notMatch(script, /\beval\(|new Function|document\.write|insertAdjacentHTML|\bimport\(/);
  // Names of XML vocabularies are no addresses that anything is fetched from.
  const foreign = [...(script + textOf('/page.css')).matchAll(/\b(?:https?|wss?):\/\/[^"'`\s)]*/g)]
    .map(([address]) => address)
    .filter((address) => !address.startsWith('http://www.w3.org/'));
  t.same(foreign, []);
  // Parts of the document itself are named by their fragments.
  t.notMatch(textOf('/page.css'), /@import|url\((?!["']?#)/);
});

t.test('no source makes markup of a text, or styles inline', async (t) => {
  const folder = join(dirname(fileURLToPath(import.meta.url)), '..');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx$|^dom\//.test(name),
  );
  t.ok(sources.length > 5, `${sources.length} sources`);
  for (const name of sources)
    t.notMatch(
      readFileSync(join(folder, name), 'utf8'),
      /innerHTML|outerHTML|DOMParser|cssText|srcdoc|javascript:/i,
      name,
    );
});

t.test('the style sheet begins with the colours of all pictures, light, dark and by switch', async (t) => {
  const style = textOf('/page.css');
  for (const [role, { light, dark }] of Object.entries(ROLES)) {
    t.match(style, `--${role}:${light}`);
    t.equal(style.split(`--${role}:${dark}`).length, 3, `${role}: by preference and by switch`);
  }
});

t.test('an archive has the same page as files', async (t) => {
  const folder = makeDirectory(t);
  writePage(page, folder);
  const withBuffers = (files: Page) => [...files].map(([path, { type, bytes }]) => [path, type, Buffer.from(bytes)]);
  t.same(withBuffers(readPage(folder)).sort(), withBuffers(page).sort());
});
