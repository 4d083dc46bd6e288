// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca break`: its words, and places in source and script by the source map.
 * break-command.long.ts sets breakpoints.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { runWords } from '../testing/run-words.ts';
import { SourcePlaces } from './source-places.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

t.test('without a debugger, and words that are no place', async (t) => {
  t.match(await runWords(['break', 'x.ts:1', '--inspect=127.0.0.1:1']), {
    status: 1,
    stderr: /ECONNREFUSED; begin with/,
  });
  t.match(await runWords(['break', 'x.ts']), { status: 2, stderr: /x\.ts is no line of a file; say for instance/ });
});

t.test('places by a source map', async (t) => {
  // Two lines of source in one line of the script; then a line without code.
  const mappings = 'AAAA,IAAI;AAEA,CAAC';
  const data = Buffer.from(JSON.stringify({ version: 3, sources: ['x.ts'], names: [], mappings })).toString('base64');
  const places = new SourcePlaces(`data:application/json;base64,${data}`);
  t.same(places.toScript(0)?.generated, { line: 0, column: 0 });
  t.match(places.toScript(1), { generated: { line: 1, column: 0 }, original: { line: 2, column: 4 } }, 'the next line');
  t.equal(places.toScript(3), undefined);
  t.same(places.toSource({ line: 0, column: 3 }), { line: 0, column: 0 });
  t.same(places.toSource({ line: 0, column: 9 }), { line: 0, column: 4 });
  t.throws(() => new SourcePlaces('x.map'), /no source map in it/);
});

t.test('the places in docs/DEBUGGING.md and in the help exist', async (t) => {
  const document = readFileSync(join(ROOT, 'docs/DEBUGGING.md'), 'utf8');
  const help = readFileSync(join(ROOT, 'scripts/cli/debugger/break-command.ts'), 'utf8');
  const lines = [...`${document}${help}`.matchAll(/vuhca break (device\/\S+\.ts):(\d+)/g)];
  t.equal(lines.length, 4);
  for (const [, file, line] of lines) {
    const text = readFileSync(join(ROOT, file), 'utf8').split('\n');
    t.match(text[Number(line) - 2], /^ {2}\w+\(.*\{$/, `${file}:${line} is the first line of a method`);
  }
  const [, table = ''] = /Good places:\n\n(.*?)\n\n/s.exec(document) ?? [];
  const rows = [...table.matchAll(/^\| `(device\/[^`]*\/)([^`/]+)`, (.*?) \|/gm)];
  t.ok(rows.length >= 7);
  for (const [, folder, first, rest] of rows) {
    const words = [first, ...[...rest.matchAll(/`([^`]+)`/g)].map(([, word]) => word)];
    const code = words
      .filter((word) => word.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
    for (const name of words.filter((word) => !word.endsWith('.ts')))
      t.match(code.join('\n'), new RegExp(`^ {2}${name}\\(`, 'm'), `${folder}${first} has ${name}`);
  }
});
