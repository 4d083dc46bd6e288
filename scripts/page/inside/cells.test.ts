// SPDX-License-Identifier: Apache-2.0
/** Places and shapes of cells: for each number of cells every cell is found at its place. */
import t from 'tap';
import { cellAt, drawCells, GAP, layOutCells, moveTo, placeOf } from './cells.ts';
import type { Cell } from './picture.ts';

const WIDTH = 340;
const cellsOf = (count: number, more: Partial<Cell> = {}): Cell[] =>
  Array.from({ length: count }, (): Cell => ({ kind: 'free', text: '', words: '', ...more }));

t.test('cells lie side by side within the width, and each is found at each of its points', async (t) => {
  for (const count of [1, 12, 13, 128, 129, 256, 257, 1024])
    for (const bars of [[], [1], [1, 1, 1]]) {
      const layout = layOutCells(cellsOf(count, { bars }), WIDTH);
      t.ok(layout.width <= WIDTH, `${count} cells`);
      const wrong = Array.from({ length: count }, (_, index) => index).filter((index) => {
        const { x, y } = placeOf(layout, index);
        const isInside = x + layout.cellWidth <= layout.width && y + layout.cellHeight <= layout.height;
        const found = [cellAt(layout, x, y), cellAt(layout, x + layout.cellWidth, y + layout.cellHeight)];
        return !isInside || found.some((one) => one !== index);
      });
      t.same(wrong, [], `${count} cells with ${bars.length} bars`);
      t.same(
        [
          [-1, 0],
          [0, -1],
          [WIDTH + GAP + 100, 0],
          [0, layout.height + GAP + 100],
        ].map(([x, y]) => cellAt(layout, x, y)),
        [-1, -1, -1, -1],
      );
    }
});

t.test('arrow keys reach every cell and leave none', async (t) => {
  const layout = layOutCells(cellsOf(30), WIDTH);
  const { columns } = layout;
  t.equal(moveTo(layout, 0, 'ArrowRight'), 1);
  t.equal(moveTo(layout, 0, 'ArrowDown'), columns);
  t.equal(moveTo(layout, columns, 'ArrowUp'), 0);
  t.same(
    ['ArrowLeft', 'ArrowUp', 'Home', 'x'].map((key) => moveTo(layout, 0, key)),
    [0, 0, 0, 0],
  );
  t.same(
    ['ArrowRight', 'ArrowDown', 'End'].map((key) => moveTo(layout, 29, key)),
    [29, 29, 29],
  );
  t.equal(moveTo(layout, 7, 'End'), 29);
});

t.test('one path for cells that look alike, bars above boxes, marks above bars', async (t) => {
  const cells = [
    ...cellsOf(5),
    ...cellsOf(2, { kind: 'filling', bars: [0.5, 0, 1] }),
    ...cellsOf(3, { kind: 'waiting', isHigh: true }),
    ...cellsOf(1, { kind: 'waiting', isOther: true }),
  ];
  const paths = drawCells(cells, layOutCells(cells, WIDTH));
  t.same(
    paths.map(({ kind, isOther, path }) => [kind, isOther, path.split('M').length - 1]),
    [
      ['free', false, 5],
      ['filling', false, 2],
      ['waiting', false, 3],
      ['waiting', true, 1],
      ['bar 0', false, 2],
      ['bar 2', false, 2],
      ['high', false, 3],
    ],
  );
  t.notMatch(paths.map(({ path }) => path).join(''), /NaN|undefined/);
});

t.test('a bar is as long as its part', async (t) => {
  const lengthOf = (part: number): number => {
    const cells = cellsOf(1, { bars: [part] });
    const path = drawCells(cells, layOutCells(cells, WIDTH)).find(({ kind }) => kind === 'bar 0')?.path ?? 'h0v';
    return Number(/h(\d+)v/.exec(path)?.[1]);
  };
  const { cellWidth } = layOutCells(cellsOf(1), WIDTH);
  t.same([0, 0.001, 0.5, 1, 7].map(lengthOf), [0, 1, (cellWidth - 2) / 2, cellWidth - 2, cellWidth - 2]);
});
