// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run mutate -- AREA...`: changes the sources of the areas one place at a time, runs their
 * unit tests against each change, and writes scores, survivors and the table of docs/TESTING.md.
 * `--changed` (`npm run check:mutation`) tries only lines that differ from a commit, writes
 * nothing, and fails when a survivor there has no reason in survivors.json.
 */
import { readFileSync } from 'node:fs';
import { runEntry, UsageError } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/script-options.ts';
import { type Area, areas, sourcesOf } from './areas.ts';
import { changedParts } from './changed-lines.ts';
import {
  describeSurvivor,
  hasSurvived,
  isKilled,
  type MutantOutcome,
  OPEN,
  readScores,
  readSurvivors,
  type Survivor,
  writeResults,
} from './results.ts';
import { runArea, wasLate } from './run-area.ts';
import { writeScoreTable } from './scores.ts';

interface Options {
  readonly changed?: boolean;
  readonly base?: string;
  readonly minutes?: number;
  readonly concurrency: number;
  readonly force?: boolean;
}

/** Bound of a run with --changed. */
const CHANGED_MINUTES = 4;

function deadlineIn(minutes = Number.POSITIVE_INFINITY): number {
  return Date.now() + minutes * 60_000;
}

/** Tries all mutants of `area` and writes what came of it. */
async function scoreArea(area: Area, { concurrency, force = false, minutes }: Options): Promise<void> {
  const begin = process.hrtime.bigint();
  const mutate = sourcesOf(area);
  const outcomes = await runArea(area, { mutate, concurrency, deadline: deadlineIn(minutes), keep: true, force });
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  const [scores, survivors] = [readScores(), readSurvivors()];
  const found = listSurvivors(outcomes, survivors[area.name] ?? []);
  const killed = outcomes.filter(isKilled).length;
  const mutants = killed + outcomes.filter(hasSurvived).length;
  const untried = outcomes.filter(wasLate).length;
  const excused = found.filter(({ reason }) => reason !== OPEN).length;
  scores[area.name] = { mutants, killed, excused, untried };
  survivors[area.name] = found;
  writeResults(sortKeys(scores), sortKeys(survivors));
  process.stdout.write(
    `${area.name}: ${killed} of ${mutants} mutants killed, ${excused} survivors have a reason, ` +
      `${mutants - killed - excused} have none, ${untried} had no time; ${(seconds / mutants).toFixed(2)} s per mutant\n`,
  );
}

function listSurvivors(outcomes: readonly MutantOutcome[], known: readonly Survivor[]): Survivor[] {
  return outcomes
    .filter(hasSurvived)
    .map((outcome) => describeSurvivor(outcome, readFileSync(outcome.fileName, 'utf8'), known));
}

/** Keys in the order of the areas. */
function sortKeys<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(areas.filter(({ name }) => name in record).map(({ name }) => [name, record[name]]));
}

/** Tries the mutants of changed lines; returns the number of survivors without a reason. */
async function checkChanged(base: string | undefined, minutes: number, concurrency: number): Promise<number> {
  const deadline = deadlineIn(minutes);
  const known = Object.values(readSurvivors()).flat();
  let [tried, late] = [0, 0];
  const open: Survivor[] = [];
  for (const { area, mutate } of changedParts(areas, base)) {
    const outcomes = await runArea(area, { mutate, concurrency, deadline, keep: false, force: true });
    tried += outcomes.filter((outcome) => isKilled(outcome) || hasSurvived(outcome)).length;
    late += outcomes.filter(wasLate).length;
    open.push(...listSurvivors(outcomes, known).filter(({ reason }) => reason === OPEN));
  }
  for (const { file, code, change } of open)
    process.stderr.write(`${file}: no test notices the change "${change}" in: ${code}\n`);
  process.stdout.write(
    `${tried} mutants of changed lines tried, ${open.length} survive without a reason, ${late} had no time\n`,
  );
  return open.length;
}

function findAreas(names: readonly string[]): readonly Area[] {
  const all = areas.map(({ name }) => name).join(', ');
  if (names.length === 0) throw new UsageError(`name the areas to run: ${all}.`);
  return names.map((name) => {
    const area = areas.find((other) => other.name === name);
    if (area === undefined) throw new UsageError(`there is no area "${name}"; the areas are ${all}.`);
    return area;
  });
}

await runEntry(async () => {
  const script = defineScript('npm run mutate --', 'Changes sources one place at a time and runs their unit tests.')
    .argument('[areas...]', 'What to change: see docs/TESTING.md.')
    .option('--changed', 'Tries only lines that differ from a commit, and writes nothing.')
    .option('--base <commit>', 'The commit; without it, where the branch left main, or else the one before.')
    .option('--minutes <number>', 'Bound of the run of an area, or of a run with --changed (4).', wholeNumber(1))
    .option('--concurrency <number>', 'Processes that try mutants.', wholeNumber(1), 1)
    .option('--force', 'Tries all mutants again.');
  const options = readOptions<Options>(script);
  if (options.changed === true) {
    const open = await checkChanged(options.base, options.minutes ?? CHANGED_MINUTES, options.concurrency);
    process.exitCode = open === 0 ? 0 : 1;
    return;
  }
  for (const area of findAreas(script.args)) await scoreArea(area, options);
  writeScoreTable();
});
