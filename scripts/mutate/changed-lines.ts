// SPDX-License-Identifier: Apache-2.0
/**
 * The lines of the areas' sources that differ from a commit, as `git diff` knows them. Called by
 * main.ts; `npm test -- --changed` takes the commit and git from here.
 */
import { spawnSync } from 'node:child_process';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { type Area, sourcesOf } from './areas.ts';

/** An area and its changed parts: `path:first-last`. */
export interface ChangedPart {
  readonly area: Area;
  readonly mutate: readonly string[];
}

export function changedParts(areas: readonly Area[], base = findBase()): ChangedPart[] {
  return areas
    .map((area) => ({ area, mutate: readHunks(git('diff', '-U0', '--no-color', base, '--', ...sourcesOf(area))) }))
    .filter(({ mutate }) => mutate.length > 0);
}

/** The changed parts in the text of a diff without context. */
export function readHunks(diff: string): string[] {
  const parts: string[] = [];
  let path = '';
  for (const line of diff.split('\n')) {
    path = /^\+\+\+ b\/(.*)$/.exec(line)?.[1] ?? path;
    const [, first, count] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (first === undefined || count === '0') continue;
    parts.push(`${path}:${first}-${Number(first) + Number(count ?? 1) - 1}`);
  }
  return parts;
}

/** Where the branch left main; on main itself, the commit before. */
export function findBase(): string {
  const head = git('rev-parse', 'HEAD').trim();
  for (const main of ['origin/main', 'main']) {
    const { status, stdout } = spawnSync('git', ['merge-base', 'HEAD', main], { encoding: 'utf8' });
    if (status === 0 && stdout.trim() !== head) return stdout.trim();
  }
  return 'HEAD~1';
}

/** The output of git. Throws SetupError when it fails. */
export function git(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', words, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new SetupError(`git ${words[0]} failed: ${stderr.trim()}; run this in a clone.`);
  return stdout;
}
