// SPDX-License-Identifier: Apache-2.0
/**
 * The table of `vuhca show`: a column for each field that some row has, headed by the words of its
 * name. Pure.
 */
import type { Cell, Row } from '../../../device/hca/adapter/contents/rows.ts';
import { table } from '../../console/table.ts';

/** The rows as lines of text. */
export function renderRows(rows: readonly Row[]): string {
  if (rows.length === 0) return 'none\n';
  const fields = Object.keys(rows[0]).filter((field) => rows.some((row) => row[field] !== null));
  return table([fields.map(headingOf), ...rows.map((row) => fields.map((field) => textOf(row[field])))]);
}

/** `sendCq` becomes `send CQ`, `stampNs` becomes `stamp ns`. */
function headingOf(field: string): string {
  const words = field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.replaceAll(/\b(?:vcb|pcb|qp|cq|srq|eq)\b/g, (word) => word.toUpperCase());
}

function textOf(cell: Cell): string | number {
  if (cell === null) return '';
  return typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : cell;
}
