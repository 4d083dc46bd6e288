// SPDX-License-Identifier: Apache-2.0
/**
 * A grid of cells in SVG. Arrow keys move along the cells as along a slider; words beside the name
 * of the grid describe the selected cell, or the one under the pointer.
 */
import { useState } from 'preact/hooks';
import { type CellLayout, cellAt, drawCells, hasTexts, layOutCells, moveTo, placeOf } from './cells.ts';
import type { Cell, Grid } from './picture.ts';

const NONE = -1;
const KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'];

export function CellGrid({ grid, width }: { readonly grid: Grid; readonly width: number }) {
  const { name, cells } = grid;
  const [pointed, setPointed] = useState(NONE);
  const layout = layOutCells(cells, width);
  const at = pointed < cells.length ? pointed : NONE;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!KEYS.includes(event.key)) return;
    event.preventDefault();
    setPointed(at === NONE ? 0 : moveTo(layout, at, event.key));
  };
  if (cells.length === 0) return <p class="nothing">{`${name}: none in use`}</p>;
  return (
    <figure class="cells">
      <figcaption>
        <span>{name}</span>
        <span class="words">{cells[at]?.words}</span>
      </figcaption>
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${name}: ${countWords(cells)}`}
        aria-valuemin={0}
        aria-valuemax={cells.length - 1}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={cells[at]?.words}
        onKeyDown={onKeyDown}
        onFocus={() => setPointed(Math.max(0, at))}
        onBlur={() => setPointed(NONE)}
        onPointerMove={(event) => setPointed(findPointed(event, layout))}
        onPointerLeave={() => setPointed(NONE)}
      >
        <svg
          aria-hidden="true"
          viewBox={`-1 -1 ${layout.width + 2} ${layout.height + 2}`}
          width={layout.width + 2}
          height={layout.height + 2}
        >
          {drawCells(cells, layout).map(({ kind, isOther, path }) => (
            <path
              key={`${kind} ${isOther}`}
              class={`cell-${kind.replace(' ', '-')}${isOther ? ' other' : ''}`}
              d={path}
            />
          ))}
          {hasTexts(layout) &&
            cells.map((cell, index) => <CellText key={index} cell={cell} index={index} layout={layout} />)}
          {at !== NONE && <Pointed layout={layout} at={at} />}
        </svg>
      </div>
    </figure>
  );
}

interface PlacedCell {
  readonly cell: Cell;
  readonly index: number;
  readonly layout: CellLayout;
}

function CellText({ cell: { text, kind, isOther }, index, layout }: PlacedCell) {
  if (text === '') return null;
  const { x, y } = placeOf(layout, index);
  return (
    <text class={`on-${kind}${isOther ? ' other' : ''}`} x={x + layout.cellWidth / 2} y={y + 11}>
      {text}
    </text>
  );
}

function Pointed({ layout, at }: { readonly layout: CellLayout; readonly at: number }) {
  const { x, y } = placeOf(layout, at);
  return <rect class="pointed" x={x} y={y} width={layout.cellWidth} height={layout.cellHeight} rx={2} />;
}

function findPointed({ currentTarget, clientX, clientY }: PointerEvent, layout: CellLayout): number {
  const { left, top, width } = ((currentTarget as Element).firstElementChild as Element).getBoundingClientRect();
  const scale = (layout.width + 2) / width;
  return cellAt(layout, (clientX - left) * scale - 1, (clientY - top) * scale - 1);
}

/** `3 free, 1 filling`. */
function countWords(cells: readonly Cell[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of cells) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}
