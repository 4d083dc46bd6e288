// SPDX-License-Identifier: Apache-2.0
/**
 * The test files of the tree by tier, and the files that tap runs for the processes of a plan.
 * `npm test` runs the quick tier, files `*.test.ts`; `npm run test:all` also the files `*.long.ts`:
 * further seeds, kernels and programs. Called by main.ts and by the table of tiers.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
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
