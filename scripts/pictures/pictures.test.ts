// SPDX-License-Identifier: Apache-2.0
/** The pictures of docs/pictures: as the command draws them, legible, all of them on a page. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { findCollisions } from '../picture/testing/read-svg.ts';
import { PICTURES_PATH, pictures } from './pictures.ts';

/** Made by a command that docs/DEBUGGING.md names; scripts/cli/trace/ladder.test.ts compares it. */
const BY_COMMAND = ['ladder.svg'];
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
  t.same(readdirSync(join(ROOT, PICTURES_PATH)).sort(), names.sort());
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const text = pages.map((page) => readFileSync(join(ROOT, 'docs', page), 'utf8')).join('\n');
  for (const name of names) t.match(text, new RegExp(`!\\[[^\\]]+\\]\\(pictures/${name}\\)`), name);
});
