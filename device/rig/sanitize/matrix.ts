// SPDX-License-Identifier: Apache-2.0
/**
 * The sanitizer's matrix (docs/HAZARDS.md): for each planted bug, the seeds that show it. The
 * clean driver is the first row. Used by `npm run simulate -- sanitize`.
 */
import { type PlantedBug, plantedBugs } from './planted-bugs.ts';

/** Seeds run for each planted bug. */
export const BUG_SEEDS = 50;
/** One in so many seeds must show a bug: a change of the workload must not hide it unnoticed. */
const CAUGHT_BY = 10;

/** The results for one bug, or for the clean driver. */
export interface MatrixRow {
  /** Undefined for the clean driver. */
  readonly bug: PlantedBug | undefined;
  readonly seeds: number;
  /** Seeds that failed, ascending. */
  failures: number[];
  /** Error of the first of them. */
  seen: string;
}

/** The planted bug of that name. */
export function findBug(name: string): PlantedBug | undefined {
  return plantedBugs.find((bug) => bug.name === name);
}

/** An empty matrix: the clean driver with its seeds, then every bug. */
export function newMatrix(cleanSeeds: number, bugSeeds = BUG_SEEDS): MatrixRow[] {
  return [undefined, ...plantedBugs].map((bug) => ({
    bug,
    seeds: bug === undefined ? cleanSeeds : bugSeeds,
    failures: [],
    seen: '',
  }));
}

/** Adds the result of a seed; seeds may come in any order. */
export function addResult(row: MatrixRow, seed: number, error: string | undefined): void {
  if (error === undefined) return;
  if (row.failures.every((other) => seed < other)) row.seen = error;
  row.failures.push(seed);
  row.failures.sort((left, right) => left - right);
}

/** True if a bug is caught often enough, or the clean driver never fails. */
export function isGood({ bug, seeds, failures }: MatrixRow): boolean {
  return bug === undefined ? failures.length === 0 : failures.length * CAUGHT_BY >= seeds;
}

/** The row as a line of the table. */
export function describeRow(row: MatrixRow): string {
  const { bug, seeds, failures, seen } = row;
  const name = (bug?.name ?? 'clean driver').padEnd(24);
  const count = `${failures.length}/${seeds}`.padStart(8);
  const first = (failures.length > 0 ? `${failures[0]}` : '-').padStart(6);
  const verdict = isGood(row) ? 'ok  ' : 'BAD ';
  return `${verdict}${name}${count}${first}  ${seen.length > 110 ? `${seen.slice(0, 107)}...` : seen}`.trimEnd();
}

/** Head of the table. */
export const MATRIX_HEAD = `    ${'planted bug'.padEnd(24)}${'caught'.padStart(8)}${'first'.padStart(6)}  what the first seed saw`;
