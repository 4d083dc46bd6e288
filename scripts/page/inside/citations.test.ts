// SPDX-License-Identifier: Apache-2.0
/** The paragraphs and topics that the picture cites are those of docs/DOCUMENTS.md. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { citations } from './citations.ts';

const documents = readFileSync('docs/DOCUMENTS.md', 'utf8');

t.test('each cited paragraph is a row of its document, with the same topic', async (t) => {
  for (const [unit, { source, paragraphs }] of Object.entries(citations)) {
    const document = source.replace(/ (?:par\.|claim) .*$/, '');
    const section = documents.split(/^## /m).find((one) => one.startsWith(`${document}:`)) ?? '';
    const rows = section
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    for (const { paragraph, topic } of paragraphs)
      t.ok(
        rows.some((cells) => cells[1] === paragraph && cells.includes(topic)),
        `${unit}: ${document} ${paragraph}`,
      );
  }
});
