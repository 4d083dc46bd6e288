// SPDX-License-Identifier: Apache-2.0
/**
 * The two checked-in files of mutation testing: `scores.json` (counts by area and file) and
 * `survivors.json` (each change that no test notices, with the reason, by area). Called by main.ts
 * and scores.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { type Area, areas, sourcesOf } from './areas.ts';
import {
  describeSurvivor,
  hasSurvived,
  isKilled,
  isSame,
  listSurvivors,
  type MutantOutcome,
  OPEN,
  type Score,
  type Scores,
  type Survivor,
  wasLate,
} from './results.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const SCORES = join(FOLDER, 'scores.json');
const SURVIVORS = join(FOLDER, 'survivors.json');

export function readScores(): Scores {
  return JSON.parse(readFileSync(SCORES, 'utf8'));
}

export function readSurvivors(): Record<string, Survivor[]> {
  return JSON.parse(readFileSync(SURVIVORS, 'utf8'));
}

/** Results of the mutants of one file. */
export interface FileResult {
  readonly area: string;
  readonly path: string;
  readonly score: Score;
  readonly survivors: readonly Survivor[];
}

/** Counts the results of one file of `area`. */
export function countFile(area: Area, path: string, outcomes: readonly MutantOutcome[]): FileResult {
  const found = listSurvivors(outcomes, readSurvivors()[area.name] ?? []);
  const killed = outcomes.filter(isKilled).length;
  const score = {
    mutants: killed + outcomes.filter(hasSurvived).length,
    killed,
    excused: found.filter(({ reason }) => reason !== OPEN).length,
    untried: outcomes.filter(wasLate).length,
  };
  return { area: area.name, path, score, survivors: found };
}

/** Writes the results of one file of an area; files that the area no longer has are forgotten. */
export function keepFile({ area: name, path, score, survivors: found }: FileResult): void {
  const area = areas.find((one) => one.name === name);
  if (area === undefined) throw new SetupError(`there is no area "${name}" any more; run its shards again.`);
  const [scores, survivors] = [readScores(), readSurvivors()];
  const files = sourcesOf(area);
  const known = survivors[area.name] ?? [];
  scores[area.name] = inOrder(files, { ...scores[area.name], [path]: score });
  survivors[area.name] = files.flatMap((file) =>
    file === path ? [...found] : known.filter((survivor) => survivor.file === file),
  );
  const names = areas.map(({ name }) => name);
  writeJson(SCORES, inOrder(names, scores));
  writeJson(SURVIVORS, inOrder(names, survivors));
}

/** Removes the survivors of one file of `area` that were tried again and are now killed. */
export function writeKills(area: Area, path: string, outcomes: readonly MutantOutcome[]): void {
  const [scores, survivors] = [readScores(), readSurvivors()];
  const known = survivors[area.name] ?? [];
  const describe = (outcome: MutantOutcome): Survivor =>
    describeSurvivor(outcome, readFileSync(outcome.fileName, 'utf8'), known);
  const isKnown = (one: Survivor): boolean => known.some((other) => isSame(one, other));
  const killed = outcomes.filter(isKilled).map(describe).filter(isKnown);
  const still = outcomes.filter(hasSurvived).map(describe).filter(isKnown);
  // Two changes of a file may have the same name, in two equal lines.
  const left = [...known.filter((one) => ![...killed, ...still].some((other) => isSame(one, other))), ...still];
  const ofFile = left.filter(({ file }) => file === path);
  const score = scores[area.name]?.[path];
  if (score === undefined) return;
  const excused = ofFile.filter(({ reason }) => reason !== OPEN).length;
  scores[area.name] = { ...scores[area.name], [path]: { ...score, killed: score.mutants - ofFile.length, excused } };
  survivors[area.name] = sourcesOf(area).flatMap((file) => left.filter((survivor) => survivor.file === file));
  writeJson(SCORES, scores);
  writeJson(SURVIVORS, survivors);
}

/** The entries of `record` whose keys are in `keys`, in that order. */
function inOrder<T>(keys: readonly string[], record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(keys.filter((key) => key in record).map((key) => [key, record[key]]));
}

function writeJson(path: string, content: unknown): void {
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
}
