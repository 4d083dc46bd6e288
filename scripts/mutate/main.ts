// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run mutate -- AREA...`: changes the sources of the areas one place at a time, runs their
 * unit tests against each change, and writes scores, survivors and the table of docs/TESTING.md.
 * `--changed` (`npm run check -- mutation`) tries only lines that differ from a commit, writes
 * nothing, and fails when a survivor there has no reason in survivors.json.
 */
import { runEntry, UsageError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { parseShard, type Shard } from '../console/shard.ts';
import { type Area, areas, sourcesOf } from './areas.ts';
import { changedParts } from './changed-lines.ts';
import { countFile, keepFile, readScores, readSurvivors, writeKills } from './result-files.ts';
import { addScores, hasSurvived, isKilled, listSurvivors, OPEN, type Survivor, wasLate } from './results.ts';
import { runArea } from './run-area.ts';
import { scoreShard } from './score-shard.ts';
import { writeScoreTable } from './scores.ts';

interface Options {
  readonly changed?: boolean;
  readonly base?: string;
  readonly minutes?: number;
  readonly concurrency: number;
  readonly force?: boolean;
  readonly file?: readonly string[];
  readonly survivors?: boolean;
  readonly open?: boolean;
  readonly shard?: Shard;
}

/** Bound of a run with --changed. */
const CHANGED_MINUTES = 4;

function deadlineIn(minutes = Number.POSITIVE_INFINITY): number {
  return Date.now() + minutes * 60_000;
}

/** Tries the mutants of `area`, or of some of its files, and writes the results. */
async function scoreArea(area: Area, options: Options): Promise<void> {
  const { concurrency, force = false, minutes, file, survivors = false, open = false } = options;
  const begin = process.hrtime.bigint();
  const files = sourcesOf(area).filter((path) => file?.some((name) => path.endsWith(`/${name}`)) ?? true);
  if (files.length === 0) throw new UsageError(`area "${area.name}" has no file ${file?.join()}.`);
  const common = { mutate: files, concurrency, deadline: deadlineIn(minutes) };
  const known = (readSurvivors()[area.name] ?? []).filter(({ reason }) => !open || reason === OPEN);
  const outcomes =
    survivors || open
      ? await runArea(area, { ...common, keep: false, force: true, only: known })
      : await runArea(area, { ...common, keep: true, force });
  const write = survivors || open ? writeKills : writeCounts;
  for (const path of files) {
    const ofFile = outcomes.filter(({ fileName }) => fileName === path);
    write(area, path, ofFile);
  }
  const { mutants, killed, excused, untried } = addScores(Object.values(readScores()[area.name]));
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  process.stdout.write(
    `${area.name}: ${killed} of ${mutants} mutants killed, ${excused} survivors have a reason, ` +
      `${mutants - killed - excused} have none, ${untried} had no time; ${seconds.toFixed(0)} s\n`,
  );
}

function writeCounts(...[area, path, outcomes]: Parameters<typeof countFile>): void {
  keepFile(countFile(area, path, outcomes));
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
    .option('--file <names...>', 'Tries only the mutants of these files of the areas.')
    .option('--survivors', 'Tries only mutants that survived before.')
    .option('--open', 'Tries only those of them without a reason.')
    .option('--force', 'Tries all mutants again.')
    .option('--shard <I/N>', 'Tries one of N shares of the files, for `npm run shards`.', parseShard);
  const options = readOptions<Options>(script);
  if (options.shard !== undefined) {
    const other = (['changed', 'survivors', 'open', 'file'] as const).find((name) => options[name] !== undefined);
    if (other !== undefined)
      throw new UsageError(`--shard divides whole areas, so --${other} cannot be given with it.`);
    const { shard, concurrency, force = false, minutes } = options;
    return scoreShard(findAreas(script.args), shard, { concurrency, force, deadline: deadlineIn(minutes) });
  }
  if (options.changed === true) {
    const open = await checkChanged(options.base, options.minutes ?? CHANGED_MINUTES, options.concurrency);
    process.exitCode = open === 0 ? 0 : 1;
    return;
  }
  for (const area of findAreas(script.args)) await scoreArea(area, options);
  writeScoreTable();
});
