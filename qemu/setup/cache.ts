// SPDX-License-Identifier: Apache-2.0
/**
 * The artifact cache: `${XDG_CACHE_HOME:-~/.cache}/vuhca`. An artifact is a folder, named after its
 * recipe and a hash of its inputs. It is built in a temporary folder beside its place and renamed
 * when whole, so a folder with the right name is complete. Half-built folders of dead runs are
 * removed by the next run; a folder that lost a declared output is built again. Called by the
 * recipe of each artifact (library.ts, qemu.ts, guest-kernel.ts, ...).
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { withLock } from './lock.ts';
import { withProgress } from './progress.ts';

/** The inputs of an artifact and how it is built. */
export interface Recipe {
  /** Kebab-case; also the first part of the folder's name. */
  readonly name: string;
  /**
   * Everything the result depends on, as JSON data, with a number to raise when the recipe changes.
   */
  readonly key: unknown;
  /** Paths that exist inside the folder of a whole artifact. */
  readonly outputs: readonly string[];
  /** What a long build calls itself, as a present participle; `making NAME` when absent. */
  readonly label?: string;
  /** Fills `directory`; `finalDirectory` is its later place, for paths written into files. */
  build(directory: string, finalDirectory: string): Promise<void>;
  /**
   * How many folders of this name stay, newest use first (default 3); those used recently stay,
   * too.
   */
  readonly keep?: number;
  /** How long a folder counts as used; an hour when absent. */
  readonly inUseMs?: number;
}

/** Another process may still use an artifact that it was given recently. */
const IN_USE_MS = 3_600_000;

/** The cache's root folder. */
export function cacheRoot(): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(base, 'vuhca');
}

/** The folder of the recipe's artifact, built first when it is absent or lacks an output. */
export async function provide(recipe: Recipe): Promise<string> {
  const root = join(cacheRoot(), 'artifacts');
  const directory = join(root, `${recipe.name}-${hashOf(recipe.key)}`);
  if (isWhole(directory, recipe)) return directory;
  await withLock(lockOf(directory), async () => {
    if (isWhole(directory, recipe)) return;
    removeLeftovers(root, recipe.name, directory);
    rmSync(directory, { recursive: true, force: true });
    const temporary = `${directory}.tmp-${process.pid}`;
    mkdirSync(temporary, { recursive: true });
    try {
      await withProgress(recipe.label ?? `making ${recipe.name}`, () => recipe.build(temporary, directory));
      renameSync(temporary, directory);
      // An unpacked archive may have given the folder an old time.
      touch(directory);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
    prune(root, recipe);
  });
  if (!isWhole(directory, recipe))
    throw new Error(`${recipe.name}: the recipe did not make ${recipe.outputs.join(', ')}`);
  return directory;
}

/** A short hexadecimal hash of JSON data, the same for the same data in every run. */
export function hashOf(key: unknown): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16);
}

function isWhole(directory: string, recipe: Recipe): boolean {
  if (!recipe.outputs.every((output) => existsSync(join(directory, output)))) return false;
  touch(directory);
  return true;
}

/** Notes a use of the folder, for prune(). */
function touch(directory: string): void {
  const now = new Date();
  utimesSync(directory, now, now);
}

function lockOf(directory: string): string {
  return join(cacheRoot(), 'locks', `${basename(directory)}.lock`);
}

/** Removes half-built folders of dead runs. The caller holds the lock of `directory`. */
function removeLeftovers(root: string, name: string, directory: string): void {
  for (const entry of listArtifacts(root, name)) {
    const builder = /\.tmp-([0-9]+)$/.exec(entry)?.[1];
    if (builder === undefined) continue;
    if (!entry.startsWith(`${basename(directory)}.`) && existsSync(`/proc/${builder}`)) continue;
    // Children of a dead run may still write there for a moment.
    rmSync(join(root, entry), { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

function prune(root: string, recipe: Recipe): void {
  const entries = listArtifacts(root, recipe.name)
    .filter((entry) => !entry.includes('.tmp-'))
    // Another process may prune at the same time, so an entry may have gone.
    .map((entry) => ({
      path: join(root, entry),
      usedMs: statSync(join(root, entry), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.usedMs - a.usedMs);
  for (const { path, usedMs } of entries.slice(recipe.keep ?? 3)) {
    if (Date.now() - usedMs < (recipe.inUseMs ?? IN_USE_MS)) continue;
    rmSync(path, { recursive: true, force: true });
    rmSync(lockOf(path), { force: true });
  }
}

function listArtifacts(root: string, name: string): string[] {
  if (!existsSync(root)) return [];
  const pattern = new RegExp(`^${name}-[0-9a-f]{16}(\\.tmp-[0-9]+)?$`);
  return readdirSync(root).filter((entry) => pattern.test(entry));
}
