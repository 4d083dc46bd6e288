// SPDX-License-Identifier: Apache-2.0
/**
 * Makes the table of an attribute of management datagrams (IBTA 13.4.8): all fields are big-endian.
 * Used by the tables of attributes and records.
 */
import type { ArrayRow, FieldRow, StructTable } from '../../layout/table.ts';

/** The table of an attribute of `sizeBytes`. */
export function attribute(
  name: string,
  source: string,
  doc: string,
  sizeBytes: number,
  fields: readonly (FieldRow | ArrayRow)[],
): StructTable {
  return { name, doc, source, endian: 'big', sizeBytes, fields };
}
