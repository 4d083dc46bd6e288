// SPDX-License-Identifier: Apache-2.0
/** The pictures of docs/pictures: as the command draws them, legible, all of them on a page. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { findCollisions } from '../picture/testing/read-svg.ts';
import { PICTURES_PATH, pictures } from './pictures.ts';

/** Made by a command that docs/DEBUGGING.md names; scripts/cli/trace/ladder.test.ts compares it. */
const BY_COMMAND = ['ladder.svg'];
/** Written by scripts/page/screenshots.long.ts. */
const SCREENSHOT_BYTES_MAX = 150_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

t.test('each picture is what `npm run pictures` draws, and none of its texts lies on another', async (t) => {
  for (const [name, draw] of Object.entries(pictures)) {
    const svg = await draw();
    const committed = readFileSync(join(ROOT, PICTURES_PATH, `${name}.svg`), 'utf8');
    t.ok(svg === committed, `${name}: npm run pictures`);
    t.same(findCollisions(svg), [], name);
  }
});

t.test('no other file is there, and a page shows each', async (t) => {
  const names = [...Object.keys(pictures).map((name) => `${name}.svg`), ...BY_COMMAND];
  const files = readdirSync(join(ROOT, PICTURES_PATH), { withFileTypes: true }).filter((one) => one.isFile());
  t.same(files.map(({ name }) => name).sort(), names.sort());
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const text = pages.map((page) => readFileSync(join(ROOT, 'docs', page), 'utf8')).join('\n');
  for (const name of names) t.match(text, new RegExp(`!\\[[^\\]]+\\]\\(pictures/${name}\\)`), name);
});

t.test('the page of `vuhca view` has pictures, light and dark, small, in docs/VIEW.md', async (t) => {
  const folder = join(ROOT, PICTURES_PATH, 'view');
  const text = readFileSync(join(ROOT, 'docs/VIEW.md'), 'utf8');
  const names = readdirSync(folder).sort();
  const shown = [...text.matchAll(/pictures\/view\/([\w-]+\.png)/g)].map(([, name]) => name);
  t.same([...new Set(shown)].sort(), names, 'VUHCA_SCREENSHOTS=write makes them, as docs/VIEW.md says');
  for (const name of names) t.ok(statSync(join(folder, name)).size < SCREENSHOT_BYTES_MAX, name);
});
