// SPDX-License-Identifier: Apache-2.0
/**
 * Tables of plain text, for the screens of `vuhca` and the reports of demonstrations. Pure: cells
 * in, lines out.
 */
/** Columns of minimal width; numbers, or all columns behind the first `left`, are right-aligned. */
export function table(rows: readonly (readonly (string | number)[])[], left?: number): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => `${row[column]}`.length)));
  const numeric = widths.map((_, column) =>
    left === undefined ? rows.some((row) => typeof row[column] === 'number') : column >= left,
  );
  const lines = rows.map((row) =>
    row.map((cell, column) =>
      numeric[column] ? `${cell}`.padStart(widths[column]) : `${cell}`.padEnd(widths[column]),
    ),
  );
  return lines.map((cells) => `${cells.join('  ').trimEnd()}\n`).join('');
}
