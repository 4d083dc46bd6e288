// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run mutate:sample`: measures whether `npm test` alone notices faults. Changes one line of
 * each of twenty areas in turn, drawn by a seed, in a copy of the repository, and runs tests of the
 * quick tier until one fails: first those near the line, then those that it can affect. Before that
 * the whole tier must pass in the copy.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../device/random.ts';
import { runEntry, SetupError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { git } from './changed-lines.ts';
import { drawChange, type PlantedChange } from './planted-changes.ts';

interface Options {
  readonly seed: number;
  readonly only: string;
  readonly list?: boolean;
}

/** An area: the sources of changes, and tests of the quick tier near it. */
interface SampleArea {
  readonly sources: string;
  /** Beginnings of paths; the area itself when absent. */
  readonly near?: readonly string[];
}

/** A run takes 5 minutes on an idle machine, and a quarter of an hour on a busy one. */
const PATIENCE_SECONDS = 1800;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AREAS: readonly SampleArea[] = [
  ...['fabric/agents', 'hca/collect', 'hca/scheduler', 'hca/events', 'fabric/link', 'hca/lane', 'hca/management'],
  ...['personality', 'hca/pio', 'hca/protection', 'hca/queues', 'hca/shares', 'fabric/subnet-manager', 'hca/trace'],
  'hca/transport',
]
  .map((folder): SampleArea => ({ sources: `device/${folder}` }))
  .concat([
    { sources: 'protocol/infiniband' },
    { sources: 'protocol/vfio-user' },
    { sources: 'guest-tests/driver/ib', near: ['guest-tests/verbs.test.ts'] },
    { sources: 'guest-tests/driver', near: ['guest-tests/guest.test.ts'] },
    { sources: 'scripts/cli' },
  ]);

await runEntry(async () => {
  const script = defineScript('npm run mutate:sample --', 'Plants a change in each area: does `npm test` notice it?')
    .option('--seed <N>', 'Draws the changes.', wholeNumber(), 1)
    .option('--only <TEXT>', 'Only areas whose path contains this.', '')
    .option('--list', 'Only prints the changes.');
  const { seed, only, list } = readOptions<Options>(script);
  const random = new Random(seed);
  const changes = AREAS.map(({ sources, near = [`${sources}/`] }) => ({ near, change: draw(random.fork(), sources) }));
  const chosen = changes.filter(({ change }) => change.file.includes(only));
  const copy = list ? undefined : makeCopy();
  let noticed = 0;
  for (const [index, { near, change }] of chosen.entries()) {
    process.stdout.write(
      `${index + 1}  ${change.file}:${change.line}: ${change.before.trim()}  =>  ${change.after.trim()}\n`,
    );
    if (copy === undefined) continue;
    const by = findNotice(copy, change, near);
    if (by !== undefined) noticed++;
    process.stdout.write(`   ${by === undefined ? 'NOT NOTICED' : `noticed by ${by}`}\n`);
  }
  if (copy !== undefined) {
    rmSync(dirname(copy), { recursive: true });
    git('worktree', 'prune');
    process.stdout.write(`${noticed} of ${chosen.length} changes noticed, seed ${seed}\n`);
  }
});

/** A change of a source file right in `folder` or below it. */
function draw(random: Random, folder: string): PlantedChange {
  const files = (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter(
      (path) => /\.(ts|c)$/.test(path) && !/\.(test|long|gen)\.ts$|test-support|testing\/|examples\/|gen\//.test(path),
    )
    .filter((path) => folder !== 'guest-tests/driver' || !path.includes('/'))
    .map((path) => join(folder, path))
    .sort();
  for (;;) {
    const file = random.pick(files);
    const change = drawChange(random, file, readFileSync(join(ROOT, file), 'utf8'));
    if (change !== undefined) return change;
  }
}

/** A copy of the last commit, with the installed packages, in which the tests pass. */
function makeCopy(): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'vuhca-sample-')), 'copy');
  git('worktree', 'add', '--detach', copy);
  // Through a link the packages would be outside the copy; bootstrap.mjs builds tap for it.
  spawnSync('cp', ['-a', join(ROOT, 'node_modules'), join(copy, 'node_modules')]);
  process.stdout.write('running the quick tier without a change ...\n');
  if (!passes(copy, [])) throw new SetupError(`tests in ${copy} fail without a change; run npm test there.`);
  return copy;
}

/** The tests that fail with the change; undefined if none does. */
function findNotice(
  copy: string,
  { file, text, original }: PlantedChange,
  near: readonly string[],
): string | undefined {
  writeFileSync(join(copy, file), text);
  try {
    const nearFiles = near.flatMap((path) => (path.endsWith('.ts') ? [path] : listTests(copy, path)));
    if (nearFiles.length > 0 && !passes(copy, nearFiles)) return near.join(', ');
    return passes(copy, ['--changed', '--base', 'HEAD']) ? undefined : 'others of the quick tier';
  } finally {
    writeFileSync(join(copy, file), original);
  }
}

function listTests(copy: string, folder: string): string[] {
  return (readdirSync(join(copy, folder), { recursive: true }) as string[])
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(folder, path));
}

/** True if `npm test` with these words passes in the copy; a run that hangs does not. */
function passes(copy: string, words: readonly string[]): boolean {
  const command = [process.execPath, 'scripts/bootstrap.mjs', '--tests', 'scripts/test-runner/main.ts', ...words];
  // With all that the run has started: the endless loop of a test hears no other signal.
  const limit = ['--signal=KILL', `${PATIENCE_SECONDS}`];
  const { status } = spawnSync('timeout', [...limit, ...command], { cwd: copy, stdio: 'ignore' });
  return status === 0;
}
