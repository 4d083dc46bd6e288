// SPDX-License-Identifier: Apache-2.0
/**
 * Tables on the terminal, of `vuhca`, the demonstrations and the benchmarks: columns without lines.
 */

/**
 * Columns as wide as they need to be, each line with its end. Columns with a number in them end at
 * the right; or `left` says which columns begin at the left: so many from the first, or those
 * listed.
 */
export function table(rows: readonly (readonly (string | number)[])[], left?: number | readonly number[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => `${row[column]}`.length)));
  const isRight = widths.map((_, column) => {
    if (left === undefined) return rows.some((row) => typeof row[column] === 'number');
    return typeof left === 'number' ? column >= left : !left.includes(column);
  });
  const lines = rows.map((row) =>
    row.map((cell, column) =>
      isRight[column] ? `${cell}`.padStart(widths[column]) : `${cell}`.padEnd(widths[column]),
    ),
  );
  return lines.map((cells) => `${cells.join('  ').trimEnd()}\n`).join('');
}
