// SPDX-License-Identifier: Apache-2.0
/**
 * Places of cells, and their shapes as paths: one path for all cells that look alike, so a frame of
 * some hundred cells changes a few attributes. Sizes are in pixels. `CellGrid` draws them.
 */
import type { Cell, Kind } from './picture.ts';

/** A grid of cells of one size, row by row. */
export interface CellLayout {
  readonly count: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly width: number;
  readonly height: number;
}

export const GAP = 2;
const ROUND = 2;
/** Sizes by number of cells: with room for a text, small, and tiny. */
const SIZES = [
  { most: 128, cellWidth: 28, cellHeight: 17 },
  { most: 256, cellWidth: 18, cellHeight: 13 },
  { most: Number.POSITIVE_INFINITY, cellWidth: 11, cellHeight: 9 },
] as const;
const BAR_HEIGHT = 3;
/** Narrower cells have no text. */
const TEXT_WIDTH = 20;

/** Cells as large as their number allows, and higher where each has several bars. */
export function layOutCells(cells: readonly Cell[], widthMax: number): CellLayout {
  const count = cells.length;
  const { cellWidth, cellHeight } = SIZES.find(({ most }) => count <= most) ?? SIZES[0];
  const bars = Math.max(1, ...cells.map((cell) => cell.bars?.length ?? 0));
  const height = cellHeight + (bars - 1) * (BAR_HEIGHT + 1);
  const columns = Math.max(1, Math.floor((widthMax + GAP) / (cellWidth + GAP)));
  const rows = Math.ceil(count / columns);
  return {
    ...{ count, columns, cellWidth, cellHeight: height },
    width: Math.max(1, Math.min(count, columns) * (cellWidth + GAP) - GAP),
    height: Math.max(0, rows * (height + GAP) - GAP),
  };
}

/** True when there is room for texts in the cells. */
export function hasTexts({ cellWidth }: CellLayout): boolean {
  return cellWidth >= TEXT_WIDTH;
}

/** Upper left corner of a cell. */
export function placeOf({ columns, cellWidth, cellHeight }: CellLayout, index: number): { x: number; y: number } {
  return { x: (index % columns) * (cellWidth + GAP), y: Math.floor(index / columns) * (cellHeight + GAP) };
}

/** The cell at a point; -1 beside all cells. */
export function cellAt(layout: CellLayout, x: number, y: number): number {
  const { columns, cellWidth, cellHeight, count } = layout;
  const column = Math.floor(x / (cellWidth + GAP));
  const index = Math.floor(y / (cellHeight + GAP)) * columns + column;
  return x >= 0 && y >= 0 && column < columns && index < count ? index : -1;
}

/** The cell that an arrow key leads to. Home and End lead to the first and the last one. */
export function moveTo({ columns, count }: CellLayout, index: number, key: string): number {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    Home: -index,
    End: count - 1 - index,
  };
  const next = index + (steps[key] ?? 0);
  return next >= 0 && next < count ? next : index;
}

/** A path for all cells that look alike. */
export interface CellPath {
  /** `bar 0`: the lowest bar of each cell. */
  readonly kind: Kind | `bar ${number}` | 'high';
  readonly isOther: boolean;
  readonly path: string;
}

/** The paths of cells: their boxes by kind, then their bars, then the marks of the higher level. */
export function drawCells(cells: readonly Cell[], layout: CellLayout): CellPath[] {
  const paths = new Map<string, { kind: CellPath['kind']; isOther: boolean; path: string }>();
  const add = (kind: CellPath['kind'], isOther: boolean, path: string): void => {
    const key = `${kind} ${isOther}`;
    const known = paths.get(key);
    if (known === undefined) paths.set(key, { kind, isOther, path });
    else known.path += path;
  };
  cells.forEach((cell, index) => {
    const isOther = cell.isOther === true;
    add(cell.kind, isOther, box(layout, index));
    for (const [place, part] of (cell.bars ?? []).entries())
      if (part > 0) add(`bar ${place}`, isOther, bar(layout, index, place, part));
    if (cell.isHigh) add('high', isOther, corner(layout, index));
  });
  const order = ({ kind }: CellPath): number => (kind.startsWith('bar') ? 1 : kind === 'high' ? 2 : 0);
  return [...paths.values()].sort((one, next) => order(one) - order(next));
}

function box(layout: CellLayout, index: number): string {
  const { x, y } = placeOf(layout, index);
  const [across, down] = [layout.cellWidth - 2 * ROUND, layout.cellHeight - 2 * ROUND];
  const arc = (dx: number, dy: number): string => `a${ROUND} ${ROUND} 0 0 1 ${dx} ${dy}`;
  return `M${x + ROUND} ${y}h${across}${arc(ROUND, ROUND)}v${down}${arc(-ROUND, ROUND)}h${-across}${arc(-ROUND, -ROUND)}v${-down}${arc(ROUND, -ROUND)}z`;
}

/** Bars lie one above the other, from the bottom of the cell on. */
function bar(layout: CellLayout, index: number, place: number, part: number): string {
  const { x, y } = placeOf(layout, index);
  const length = Math.max(1, Math.round(Math.min(1, part) * (layout.cellWidth - 2)));
  const top = y + layout.cellHeight - 1 - (place + 1) * (BAR_HEIGHT + 1) + 1;
  return `M${x + 1} ${top}h${length}v${BAR_HEIGHT}h${-length}z`;
}

function corner(layout: CellLayout, index: number): string {
  const { x, y } = placeOf(layout, index);
  return `M${x + layout.cellWidth - 6} ${y}h6v6z`;
}
