// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run check -- layers`: no import points up, types included, and no files import each other in
 * a circle; docs/ARCHITECTURE.md shows the present layers. `npm run layers` writes them there.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { cruiseLayers } from './cruise.ts';
import { layers } from './layers.ts';
import { checkTable, checkUnused, checkWings, fillIn, renderParts, renderPicture, renderWings } from './table.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENT = 'docs/ARCHITECTURE.md';
const FOLDERS = ['protocol', 'device', 'qemu', 'guest-tests', 'scripts'];

await runEntry(async () => {
  const script = defineScript('npm run layers --', 'Writes the layers of imports into docs/ARCHITECTURE.md.').option(
    '--check',
    'Only says what is wrong, as npm run check -- layers does.',
  );
  const { check = false } = readOptions<{ check?: boolean }>(script);
  const { violations, used } = cruiseLayers(layers, ROOT, FOLDERS);
  const found = [
    ...checkTable(layers),
    ...checkWings(layers, 'device'),
    ...checkUnused(layers, used),
    ...violations.map(({ from, message }) => `${from}: ${message}`),
  ];
  const path = join(ROOT, DOCUMENT);
  const document = readFileSync(path, 'utf8');
  const wanted = fillIn(document, {
    'wings of device': renderWings(layers, 'device', ['protocol']),
    'layers of the adapter': renderPicture(layers, 'device/hca'),
    layers: renderParts(layers),
  });
  if (check && wanted !== document) found.push(`${DOCUMENT} does not show the layers as they are; run: npm run layers`);
  if (!check && wanted !== document) writeFileSync(path, wanted);
  for (const sentence of found) process.stderr.write(`${sentence}\n`);
  if (found.length > 0) process.exitCode = 1;
});
