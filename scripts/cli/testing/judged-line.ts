// SPDX-License-Identifier: Apache-2.0
/**
 * A line of `vuhca trace show` in the form for its judges, and the search for its facts. Tests
 * only.
 */
import type { Fact, ModelLog } from './model-log.ts';

/** A line of one end: adapter time, and the block of the end, if there is one. */
export interface JudgedLine {
  readonly timeNs: number;
  readonly text: string;
  readonly receives: boolean;
  readonly qp: number;
  readonly peer: number;
}

/** Facts that show a sentence. */
export type Found = readonly Fact[];
/** Finds the facts of a sentence, or says whether it is true. */
export type Rule = (line: JudgedLine, log: ModelLog, ...matched: string[]) => Found | boolean;

/** Facts of this kind and time that have these numbers. */
export function one(
  { timeNs }: JudgedLine,
  log: ModelLog,
  kind: string,
  numbers: Readonly<Record<string, unknown>>,
): Found {
  return log
    .at(timeNs)
    .filter((fact) => fact.kind === kind && Object.entries(numbers).every(([name, value]) => fact[name] === value));
}
