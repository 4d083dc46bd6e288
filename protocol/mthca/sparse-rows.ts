// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of structures with gaps: fields stand at byte offsets, as firmware interfaces describe them,
 * and the bits in between are reserved. Used by the tables of this folder only.
 */
import type { FieldRow } from '../layout/table.ts';

const BITS_PER_BYTE = 8;

/** Fields that follow each other, and the byte offset of the first one. */
export type RowGroup = readonly [at: number, rows: readonly FieldRow[]];

/** Returns the rows of a structure of `sizeBytes`; the groups are in the order of their offsets. */
export function sparseRows(sizeBytes: number, groups: readonly RowGroup[]): FieldRow[] {
  const rows: FieldRow[] = [];
  let position = 0;
  const skipTo = (bit: number): void => {
    if (bit > position) rows.push({ bits: bit - position });
    position = bit;
  };
  for (const [at, group] of groups) {
    skipTo(at * BITS_PER_BYTE);
    rows.push(...group.map((row, index) => (index === 0 ? { ...row, at } : row)));
    for (const { bits, bytes = 0 } of group) position += bits ?? bytes * BITS_PER_BYTE;
  }
  skipTo(sizeBytes * BITS_PER_BYTE);
  return rows;
}
