// SPDX-License-Identifier: Apache-2.0
/**
 * One unit of the picture: its numbers, meters, cells and tables. Numbers that differ from the
 * state before are marked. All words are text nodes, whatever their source.
 */
import { CellGrid } from './cell-grid.tsx';
import { findChanges, keyOfCell, type UnitChanges } from './changes.ts';
import type { Citation } from './citations.ts';
import type { Fact, Meter, Table, Unit } from './picture.ts';

/** Pixels for cells in a unit of each width. */
const CELLS_WIDTH = 340;
const SCALE = 1000;

interface UnitProps {
  readonly unit: Unit;
  readonly before: Unit | undefined;
}

export function UnitBox({ unit, before }: UnitProps) {
  const { id, title, source, facts, meters, grids, tables } = unit;
  const changes = findChanges(unit, before);
  return (
    <section class={`unit unit-${id}`} aria-labelledby={`unit-${id}`}>
      <header>
        <h3 id={`unit-${id}`}>{title}</h3>
        <Source source={source} />
      </header>
      <dl class="facts">
        {facts.map((fact) => (
          <FactLine key={fact.name} fact={fact} isChanged={changes.named.has(fact.name)} />
        ))}
      </dl>
      {meters.map((meter) => (
        <MeterBar key={meter.name} meter={meter} isChanged={changes.named.has(meter.name)} />
      ))}
      {grids.map((grid) => (
        <CellGrid key={grid.name} grid={grid} width={CELLS_WIDTH} />
      ))}
      {tables.map((table) => (
        <RowTable key={table.name} table={table} changes={changes} />
      ))}
    </section>
  );
}

/** The paragraphs that rule the unit, folded. */
function Source({ source: { source, paragraphs } }: { readonly source: Citation }) {
  return (
    <details class="source">
      <summary>{source}</summary>
      <ul>
        {paragraphs.map(({ paragraph, topic }) => (
          <li key={paragraph}>
            <b>{paragraph}</b> {topic}
          </li>
        ))}
        <li>docs/DOCUMENTS.md says how paragraphs are counted, and where each is in the sources.</li>
      </ul>
    </details>
  );
}

function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

function FactLine({ fact, isChanged }: { readonly fact: Fact; readonly isChanged: boolean }) {
  const { name, value, isBad } = fact;
  return (
    <div class={classes(isBad && 'bad')}>
      <dt>{name}</dt>
      <dd class={classes(isChanged && 'changed')}>{value}</dd>
    </div>
  );
}

function MeterBar({ meter, isChanged }: { readonly meter: Meter; readonly isChanged: boolean }) {
  const { name, total, parts, marks = [], words } = meter;
  const scale = total > 0 ? SCALE / total : 0;
  const all = [words, ...marks.map((mark) => mark.name)].join('; ');
  let end = 0;
  return (
    <div class="meter">
      <span>{name}</span>
      <span class={classes('words', isChanged && 'changed')}>{words}</span>
      <svg viewBox={`0 0 ${SCALE} 8`} preserveAspectRatio="none" role="img" aria-label={`${name}: ${all}`}>
        <title>{all}</title>
        {parts.map(({ kind, value }, place) => {
          const x = end;
          end += value * scale;
          return <rect key={place} class={`cell-${kind}`} x={x} y={0} width={value * scale} height={8} />;
        })}
        {marks.map(({ at, name: mark }) => (
          <line key={mark} class="mark" x1={at * scale} x2={at * scale} y1={0} y2={8} />
        ))}
      </svg>
    </div>
  );
}

function RowTable({ table, changes }: { readonly table: Table; readonly changes: UnitChanges }) {
  const { name, columns, rows, more } = table;
  if (rows.length === 0) return <p class="nothing">{`${name}: none`}</p>;
  return (
    <div class="rows">
      <table aria-label={name}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells, isBad }) => (
            <tr key={key} class={classes(isBad && 'bad')}>
              {cells.map((cell, column) => (
                <td
                  key={columns[column]}
                  class={classes(changes.cells.has(keyOfCell(table, key, columns[column])) && 'changed')}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="nothing">{`${more} more; choose a function, or use vuhca show`}</p>}
    </div>
  );
}
