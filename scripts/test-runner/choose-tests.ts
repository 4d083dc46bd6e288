// SPDX-License-Identifier: Apache-2.0
/**
 * The test files of the tree by tier, and the files that tap runs for the processes of a plan.
 * `npm test` runs the quick tier, files `*.test.ts`; `npm run test:all` also the files `*.long.ts`:
 * further seeds, kernels and programs. Called by main.ts and by the table of tiers.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../qemu/setup/tools/errors.ts';
import { moduleOf, type TestProcess } from './test-processes.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['device', 'protocol', 'qemu', 'guest-tests', 'scripts'];
/** Modules of processes that run several files. */
const SHARED = join(ROOT, 'build', 'tests');

/** The endings of the names of test files. */
export const TIERS = { quick: '.test.ts', long: '.long.ts' } as const;
export type Tier = keyof typeof TIERS;

/** Paths of the files of a tier, from the root, sorted. */
export function findTests(tier: Tier): string[] {
  return listFiles(TIERS[tier]);
}

/**
 * Test files by the words of a command: a file is taken as it is, a folder stands for its files of
 * `tiers`. Throws UsageError for a word that names neither, or a folder without such files.
 */
export function findNamed(words: readonly string[], tiers: readonly Tier[]): string[] {
  const files = words.flatMap((word) => {
    const path = relative(ROOT, resolve(word));
    const kind = statSync(join(ROOT, path), { throwIfNoEntry: false });
    if (kind === undefined) throw new UsageError(`${word}: no such file or folder`);
    if (kind.isFile()) return [path];
    const own = tiers.flatMap(findTests).filter((test) => path === '' || test.startsWith(`${path}/`));
    if (own.length === 0)
      throw new UsageError(`${word}: no tests of this tier (${tiers.map((tier) => `*${TIERS[tier]}`).join(', ')})`);
    return own;
  });
  return [...new Set(files)];
}

/** Paths of the sources whose names end with `ending`, from the root, sorted. */
export function listFiles(ending: string): string[] {
  return FOLDERS.flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
      .filter((path) => path.endsWith(ending))
      .map((path) => join(folder, path)),
  ).sort();
}

/**
 * The file to run for each process: its only one, or a module that imports all its files, named by
 * its content because two runs may be at work in one clone.
 */
export function writeModules(processes: readonly TestProcess[]): Map<string, TestProcess> {
  return new Map(processes.map((one) => [fileFor(one), one]));
}

function fileFor(one: TestProcess): string {
  const { name, files } = one;
  if (files.length === 1) return files[0] as string;
  const folder = join(SHARED, dirname(name));
  const text = moduleOf(one, relative(folder, ROOT));
  const path = join(folder, `${basename(name)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.test.ts`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, text);
  return relative(ROOT, path);
}
