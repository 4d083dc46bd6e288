// SPDX-License-Identifier: Apache-2.0
/**
 * The table of docs/TESTING.md with the tests of each tier, made from the existing files. Called by
 * `npm run generate`.
 */
import { findTests, TIERS, type Tier } from './choose-tests.ts';

export const TIERS_PATH = 'docs/TESTING.md';
const BEGIN = '<!-- tiers: begin, written by npm run generate -->';
const END = '<!-- tiers: end -->';

/** `document` with the table of the test files that there are. Throws when a mark is missing. */
export function fillTiers(document: string, filesOf: (tier: Tier) => readonly string[] = findTests): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${TIERS_PATH} lacks the marks of the tiers`);
  const areas = new Map<string, Record<Tier, string[]>>();
  for (const tier of Object.keys(TIERS) as Tier[])
    for (const file of filesOf(tier)) {
      const area = areaOf(file);
      const row = areas.get(area) ?? { quick: [], long: [] };
      row[tier].push(file.slice(area.length + 1, -TIERS[tier].length));
      areas.set(area, row);
    }
  const rows = [...areas]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([area, { quick, long }]) => `| \`${area}\` | ${quick.join(', ')} | ${long.join(', ')} |`);
  const table = ['| folder | `npm test` | `npm run test:all` also | ', '|---|---|---|', ...rows];
  return `${document.slice(0, begin + BEGIN.length)}\n\n${table.map((line) => line.trimEnd()).join('\n')}\n\n${document.slice(end)}`;
}

/** The folder of a file, at most two levels deep, and three in `device/`, which has wings. */
function areaOf(file: string): string {
  const depth = file.startsWith('device/') ? 3 : 2;
  return file.split('/').slice(0, -1).slice(0, depth).join('/');
}
