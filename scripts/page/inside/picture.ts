// SPDX-License-Identifier: Apache-2.0
/**
 * The parts of the picture of an adapter: units in the order of the way of a command
 * (docs/ARCHITECTURE.md), each with numbers, meters, cells and tables. The functions of this folder
 * make it from a ViewState, and components draw it; a unit does not determine its look.
 */
import type { ViewRow, ViewState } from '../../cli/view/view-protocol.ts';
import type { Citation } from './citations.ts';

export type AdapterReport = NonNullable<ViewState['adapter']>;
export type PersonalityReport = NonNullable<ViewState['personality']>;
export type FunctionReport = AdapterReport['functions'][number];

export type UnitId =
  | 'driver'
  | 'collect'
  | 'doorbells'
  | 'scheduler'
  | 'lanes'
  | 'transport'
  | 'completions'
  | 'events'
  | 'contexts'
  | 'ports';

/** A number or a word with its name. */
export interface Fact {
  readonly name: string;
  readonly value: string | number;
  /** Marks a value that needs attention. */
  readonly isBad?: boolean;
}

/** Kinds of cells and parts, each with a colour and a shape of its own. */
export type Kind =
  | 'free'
  | 'filling'
  | 'waiting'
  | 'running'
  | 'refused'
  | 'locked'
  | 'own'
  | 'shared'
  | 'left'
  | 'idle';

/** A bar with parts one behind the other, and marks at places of its scale. */
export interface Meter {
  readonly name: string;
  /** End of the scale. */
  readonly total: number;
  readonly parts: readonly { readonly kind: Kind; readonly value: number }[];
  readonly marks?: readonly { readonly at: number; readonly name: string }[];
  /** The same in words. */
  readonly words: string;
}

/** A buffer, a lane or a block. */
export interface Cell {
  readonly kind: Kind;
  /** At most four characters inside the cell. */
  readonly text: string;
  /** All known facts about it, for readers who point at it. */
  readonly words: string;
  /** Bars at the bottom, one above the other, each in parts of the whole from 0 to 1. */
  readonly bars?: readonly number[];
  /** The higher QoS level. */
  readonly isHigh?: boolean;
  /** It belongs to a function that is not chosen. */
  readonly isOther?: boolean;
}

export interface Grid {
  readonly name: string;
  readonly cells: readonly Cell[];
}

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
  /** Rows that are left out. */
  readonly more: number;
}

export interface TableRow {
  readonly key: string;
  readonly cells: readonly (string | number)[];
  readonly isBad?: boolean;
}

export interface Unit {
  readonly id: UnitId;
  readonly title: string;
  readonly source: Citation;
  readonly facts: readonly Fact[];
  readonly meters: readonly Meter[];
  readonly grids: readonly Grid[];
  readonly tables: readonly Table[];
}

/** Traffic from a unit to the next one: a sum since the start. */
export interface Flow {
  readonly from: UnitId;
  readonly to: UnitId;
  readonly name: string;
  readonly count: number;
}

export interface Picture {
  readonly timeNs: number;
  readonly units: readonly Unit[];
  readonly flows: readonly Flow[];
}

/** The state of an adapter, reduced to one function where one is chosen. */
export interface Shown {
  readonly timeNs: number;
  readonly report: AdapterReport;
  /** The functions that are shown. */
  readonly functions: readonly FunctionReport[];
  readonly chosen: number | undefined;
  /** Rows of a view of `vuhca show`: those of the chosen function. */
  rows(view: string): readonly ViewRow[];
  /** Rows of all functions. */
  allRows(view: string): readonly ViewRow[];
}

/** Rows of a table at most: more than a reader looks at. */
const ROWS_MAX = 24;

/** A table with the first rows of a list, without columns in which they all are empty. */
export function tableOf<Item>(
  name: string,
  columns: readonly string[],
  items: readonly Item[],
  describe: (item: Item) => TableRow,
): Table {
  const rows = items.slice(0, ROWS_MAX).map(describe);
  const isUsed = (_: unknown, column: number): boolean => rows.some(({ cells }) => cells[column] !== '');
  return {
    name,
    columns: columns.filter(isUsed),
    rows: rows.map((row) => ({ ...row, cells: row.cells.filter(isUsed) })),
    more: items.length - rows.length,
  };
}

/** A meter whose words are `3 of 8`. */
export function meterOf(name: string, total: number, parts: Meter['parts'], marks?: Meter['marks']): Meter {
  const used = parts.reduce((sum, { value }) => sum + value, 0);
  return { name, total, parts, words: `${used} of ${total}`, ...(marks === undefined ? {} : { marks }) };
}

/** The sum of a number over functions, ports or rows. */
export function sumOf<Item>(items: readonly Item[], count: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}

/** Facts of counters that are not 0 and should be. */
export function badFacts(counts: Readonly<Record<string, number>>): Fact[] {
  return Object.entries(counts)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => ({ name, value, isBad: true }));
}

/** The cell of a row as a number; -1 where the row has none. */
export function numberIn(row: ViewRow, name: string): number {
  const value = row[name];
  return typeof value === 'number' ? value : -1;
}

/** The cell of a row as text; empty where the row has none. */
export function textIn(row: ViewRow, name: string): string {
  const value = row[name];
  return value === null || value === undefined ? '' : String(value);
}

/** Rows grouped by `keyOf`, in the order of the rows. */
export function groupRows(rows: readonly ViewRow[], keyOf: (row: ViewRow) => string): Map<string, ViewRow[]> {
  const groups = new Map<string, ViewRow[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** `QP 5 number 12`, as far as the row has it. */
export function commandIn(row: ViewRow): string {
  const [qp, sequence] = [numberIn(row, 'qp'), numberIn(row, 'sequence')];
  if (qp < 0) return '';
  return sequence < 0 ? `QP ${qp}` : `QP ${qp} number ${sequence}`;
}
