// SPDX-License-Identifier: Apache-2.0
/**
 * Results of mutants: which were noticed, and survivors with their reasons. A survivor is known by
 * the text of its line and by its change, not by its number, so that changes elsewhere in a file
 * keep its reason. Called by main.ts, result-files.ts and scores.ts.
 */
import { readFileSync } from 'node:fs';

/** The reason of a survivor that waits for its judgement. */
export const OPEN = 'open: needs a test or a reason';

/** A change that no test notices. */
export interface Survivor {
  readonly file: string;
  /** The line before the change, without its indent. */
  readonly code: string;
  /** `text before -> text after`. */
  readonly change: string;
  readonly reason: string;
}

/** The identity of a survivor. */
export type SurvivorName = Omit<Survivor, 'reason'>;

/** Counts of a file, or of an area. */
export interface Score {
  readonly mutants: number;
  readonly killed: number;
  /** Survivors whose reason says that no test can notice. */
  readonly excused: number;
  /** Mutants that had no time; they count in none of the others. */
  readonly untried: number;
}

/** Counts by area and file. */
export type Scores = Record<string, Record<string, Score>>;

/** A result as Stryker reports it, as far as it matters here. */
export interface MutantOutcome {
  readonly fileName: string;
  readonly status: string;
  readonly replacement?: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

/** Line from 1, column from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

const NOTICED = ['Killed', 'Timeout'];
const UNNOTICED = ['Survived', 'NoCoverage'];

export const isKilled = ({ status }: MutantOutcome): boolean => NOTICED.includes(status);
export const hasSurvived = ({ status }: MutantOutcome): boolean => UNNOTICED.includes(status);
/** True if there was no time to try the mutant. */
export const wasLate = ({ status }: MutantOutcome): boolean => status === 'RuntimeError';

/** The survivor of `outcome`, with the reason of the same one in `known`. */
export function describeSurvivor(outcome: MutantOutcome, source: string, known: readonly Survivor[]): Survivor {
  const { start, end } = outcome.location;
  const lines = source.split('\n');
  const code = lines[start.line - 1].trim();
  const cut = lines.slice(start.line - 1, end.line);
  cut[cut.length - 1] = cut[cut.length - 1].slice(0, end.column - 1);
  cut[0] = cut[0].slice(start.column - 1);
  const change = `${squeeze(cut.join(' '))} -> ${squeeze(outcome.replacement ?? '')}`;
  const survivor = { file: outcome.fileName, code, change };
  return { ...survivor, reason: known.find((other) => isSame(other, survivor))?.reason ?? OPEN };
}

export function isSame(left: SurvivorName, right: SurvivorName): boolean {
  return left.file === right.file && left.code === right.code && left.change === right.change;
}

/** Percent of mutants that tests notice, rounded down. */
export function percentKilled({ mutants, killed }: Score): number {
  return mutants === 0 ? 100 : Math.floor((100 * killed) / mutants);
}

/** The counts of several files together. */
export function addScores(scores: readonly Score[]): Score {
  const sum = (read: (score: Score) => number): number => scores.reduce((total, score) => total + read(score), 0);
  return {
    mutants: sum(({ mutants }) => mutants),
    killed: sum(({ killed }) => killed),
    excused: sum(({ excused }) => excused),
    untried: sum(({ untried }) => untried),
  };
}

/** Survivors among `outcomes`, with the reasons in `known`. */
export function listSurvivors(outcomes: readonly MutantOutcome[], known: readonly Survivor[]): Survivor[] {
  return outcomes
    .filter(hasSurvived)
    .map((outcome) => describeSurvivor(outcome, readFileSync(outcome.fileName, 'utf8'), known));
}

/** One line, at most 100 characters. */
function squeeze(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 100 ? line : `${line.slice(0, 97)}...`;
}
