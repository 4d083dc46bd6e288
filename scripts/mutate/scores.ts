// SPDX-License-Identifier: Apache-2.0
/**
 * The table of mutation scores in docs/TESTING.md, from scores.json, between its two marks. Called
 * by main.ts after a run, and by its test, which fails when the table differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { areas } from './areas.ts';
import { readScores } from './result-files.ts';
import { addScores, percentKilled, type Scores } from './results.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/TESTING.md', import.meta.url));
const BEGIN = '<!-- mutation scores: begin, written by npm run mutate -->';
const END = '<!-- mutation scores: end -->';

/** `document` with the table of `scores`. Throws when a mark is missing. */
function fillScores(document: string, scores: Readonly<Scores>): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error('docs/TESTING.md lacks the marks of the mutation scores');
  const rows = areas.map(({ name, sources }) => {
    const files = Object.values(scores[name] ?? {});
    const where = sources.map((pattern) => `\`${pattern}\``).join(', ');
    if (files.length === 0) return `| ${name} | ${where} | not run | | | | |`;
    const score = addScores(files);
    const { mutants, killed, excused, untried } = score;
    return `| ${name} | ${where} | ${mutants} | ${percentKilled(score)} % | ${excused} | ${mutants - killed - excused} | ${untried} |`;
  });
  const head = [
    '| area | sources | mutants | killed | survivors with a reason | open | not tried |',
    '|---|---|---|---|---|---|---|',
  ];
  return `${document.slice(0, begin + BEGIN.length)}\n\n${[...head, ...rows].join('\n')}\n\n${document.slice(end)}`;
}

/** The document as it is, and as it should be. */
export function readScoreTable(): { found: string; wanted: string } {
  const found = readFileSync(DOCUMENT, 'utf8');
  return { found, wanted: fillScores(found, readScores()) };
}

export function writeScoreTable(): void {
  writeFileSync(DOCUMENT, readScoreTable().wanted);
}
