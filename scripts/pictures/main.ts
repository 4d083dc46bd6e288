// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run pictures`: draws all pictures of docs/pictures, and writes docs/PERFORMANCE.md. Plots
 * show stored measurements; the demonstrations write new ones with `--data`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { readFigures } from '../foreign/figures.ts';
import { readPerformance } from '../performance/figures.ts';
import { describePerformance, PERFORMANCE_PAGE } from '../performance/page.ts';
import { PICTURES_PATH, pictures } from './pictures.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

await runEntry(async () => {
  readOptions(
    defineScript('npm run pictures --', `Draws all pictures of ${PICTURES_PATH}, and writes ${PERFORMANCE_PAGE}.`),
  );
  mkdirSync(join(ROOT, PICTURES_PATH), { recursive: true });
  for (const [name, draw] of Object.entries(pictures)) {
    const path = join(PICTURES_PATH, `${name}.svg`);
    writeFileSync(join(ROOT, path), await draw());
    process.stdout.write(`${path}\n`);
  }
  writeFileSync(join(ROOT, PERFORMANCE_PAGE), describePerformance(readPerformance(), readFigures()));
});
