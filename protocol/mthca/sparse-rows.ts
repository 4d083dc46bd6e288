// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of structures with gaps: fields stand at byte offsets, as firmware interfaces describe them,
 * and the bits in between are reserved. Used by the tables of this folder only.
 */
import type { FieldRow } from '../layout/table.ts';
import { fillGaps, type PlacedRow, widthOf } from '../layout/table-rows.ts';

const BITS_PER_BYTE = 8;

/** Fields that follow each other, and the byte offset of the first one. */
export type RowGroup = readonly [at: number, rows: readonly FieldRow[]];

/** Returns the rows of a structure of `sizeBytes`; the groups are in the order of their offsets. */
export function sparseRows(sizeBytes: number, groups: readonly RowGroup[]): FieldRow[] {
  const places = groups.flatMap(([at, rows]) => {
    let begin = at * BITS_PER_BYTE;
    return rows.map((row, index): PlacedRow => {
      const place = { begin, row: index === 0 ? { ...row, at } : row };
      begin += widthOf(row);
      return place;
    });
  });
  return fillGaps(sizeBytes, places);
}
