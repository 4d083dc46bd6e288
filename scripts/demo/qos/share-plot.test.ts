// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- qos --in-process`: its title says whether shares hold, its bars are
 * the shares.
 */
import t from 'tap';
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { findCollisions, placeTexts } from '../../picture/testing/read-svg.ts';
import { readMarks, readTitle } from '../../plot/testing/read-marks.ts';
import { drawShares } from './share-plot.ts';
import { formatTable, type Row } from './share-table.ts';

const WIDTH = 560;

/** A phase with these shares and the guarantees that lanes give. */
function makeRow(name: string, shares: readonly number[], expected: readonly number[]): Row {
  return {
    name,
    shares: shares.map((share, at) => ({
      messages: 100,
      share,
      expected: expected[at],
      pcbsPeak: 1,
      sharedPeak: 0,
      completionPeak: 1,
    })),
  };
}

const ROWS = [
  makeRow('all three flood', [0.332, 0.223, 0.445], [1 / 3, 2 / 9, 4 / 9]),
  makeRow('weather alone', [0, 1, 0], [0, 1, 0]),
];

t.test('the title says how well shares hold, or which guest lacks its share', async (t) => {
  t.equal(readTitle(await drawShares(ROWS)), 'Guaranteed shares hold within 0.2 points while three guests flood');
  const two = [makeRow('two flood', [0, 0.34, 0.66], [0, 1 / 3, 2 / 3])];
  t.equal(readTitle(await drawShares(two)), 'Guaranteed shares hold within 0.7 points while two guests flood');
  const missed = [...ROWS, makeRow('again', [0.35, 0.15, 0.5], [1 / 3, 2 / 9, 4 / 9])];
  t.equal(readTitle(await drawShares(missed)), 'Weather has 7.2 points less than its guarantee (again)');
  t.equal(
    readTitle(await drawShares([ROWS[1]])),
    'Guaranteed shares could not be judged: guests had nothing waiting most of the time',
  );
});

t.test('each active guest has a bar as long as its share and a mark at its guarantee', async (t) => {
  const marks = readMarks(await drawShares(ROWS));
  const bars = marks.filter(({ kind }) => kind === 'bar');
  t.same(
    bars.map(({ shows }) => shows.guest),
    ['control', 'weather', 'ocean', 'weather'],
  );
  for (const [at, share] of [0.332, 0.223, 0.445, 1].entries()) {
    const length = Number(/h([\d.]+)/.exec(bars[at].element)?.[1]);
    // Corners of a bar are round, so its path is a little shorter.
    t.ok(Math.abs(length / WIDTH - share) < 0.005, `${bars[at].shows.guest}: ${length}`);
  }
  const guarantees = marks.filter(({ kind }) => kind === 'point');
  for (const [at, guaranteed] of [1 / 3, 2 / 9, 4 / 9, 1].entries()) {
    const x = Number(/translate\(([\d.]+),/.exec(guarantees[at].element)?.[1]);
    t.ok(Math.abs(x / WIDTH - guaranteed) < 1e-9, `${guarantees[at].shows.guest}: ${x}`);
  }
});

t.test('a label stands behind the mark of a guarantee that is not reached, as the table writes it', async (t) => {
  const rows = [makeRow('a guest lacks', [0.3, 0.2, 0.5], [0.34, 0.22, 0.44])];
  const svg = await drawShares(rows);
  t.same(findCollisions(svg), []);
  const marks = readMarks(svg).filter(({ kind }) => kind === 'point');
  const labels = placeTexts(svg).filter(({ text }) => /^\d+\.\d %$/.test(text));
  t.same(labels.length, 3);
  const left = placeTexts(svg).find(({ text }) => text === '0%')?.x ?? 0;
  for (const [at, { text, x }] of labels.entries()) {
    const mark = Number(/translate\(([\d.]+),/.exec(marks[at].element)?.[1]);
    t.ok(x > left + mark + 2, `${text}: its mark is at ${mark}`);
    t.ok(formatTable(GUESTS, rows).includes(` ${text} `), text);
  }
});
