// SPDX-License-Identifier: Apache-2.0
/** Short ways to write tables: named numbers in rows, and structures whose fields leave gaps. */
import type { ConstantTable, FieldRow, ValueTable } from './table.ts';

const BITS_PER_BYTE = 8;

/** A named number: an opcode, a status, an offset. */
export type NumberRow = readonly [name: string, value: number, doc: string];

/** A table of values. */
export function values(name: string, doc: string, ...rows: readonly NumberRow[]): ValueTable {
  return { name, doc, values: numbers(rows) };
}

/** A table of constants. */
export function constants(name: string, doc: string, ...rows: readonly NumberRow[]): ConstantTable {
  return { name, doc, constants: numbers(rows) };
}

/** The entries of such a table. */
export function numbers(rows: readonly NumberRow[]): { name: string; value: number; doc: string }[] {
  return rows.map(([name, value, doc]) => ({ name, value, doc }));
}

/** A row, and the bit at which it begins, counted from the start of the structure. */
export interface PlacedRow {
  readonly begin: number;
  readonly row: FieldRow;
}

/** Width of a row in bits. */
export function widthOf({ bits, bytes = 0 }: FieldRow): number {
  return bits ?? bytes * BITS_PER_BYTE;
}

/**
 * The rows of a structure of `sizeBytes` with reserved bits in between. The places are in the order
 * of their bits; a row that begins inside the row before it is placed after that row.
 */
export function fillGaps(sizeBytes: number, places: readonly PlacedRow[]): FieldRow[] {
  const rows: FieldRow[] = [];
  let position = 0;
  const skipTo = (begin: number): void => {
    if (begin > position) rows.push({ bits: begin - position });
    position = begin;
  };
  for (const { begin, row } of places) {
    skipTo(begin);
    rows.push(row);
    position += widthOf(row);
  }
  skipTo(sizeBytes * BITS_PER_BYTE);
  return rows;
}
