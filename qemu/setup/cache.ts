// SPDX-License-Identifier: Apache-2.0
/**
 * The artifact cache: `${XDG_CACHE_HOME:-~/.cache}/vuhca`. An artifact is a folder, named after its
 * recipe and a hash of its inputs. It is built in a temporary folder beside its place and renamed
 * when whole, so a folder with the right name is complete. Half-built folders whose lock nobody
 * holds are removed by the next run; a folder that lost a declared output is built again. Called by
 * the recipe of each artifact (library.ts, qemu.ts, guest-kernel.ts, ...).
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { cacheFolder, findStrangersPart, makeFolder } from '../../protocol/system/private-folder.mjs';
import { lookForUsers } from './cache-users.ts';
import { withLock, withLockIfFree } from './lock.ts';
import { type StepDetails, withProgress } from './progress.ts';
import { SetupError } from './tools/errors.ts';

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
  /** What else a long build tells; asked when it begins. */
  explain?(): StepDetails;
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

/** Ends the name of a folder that is being built; older versions added a process number. */
const HALF_BUILT = /\.tmp(?:-[0-9]+)?$/;

const REMEDY = 'set XDG_CACHE_HOME to a folder of yours.';
/** Folders of artifacts that this process uses, and their descriptors, which nobody closes. */
const open = new Map<string, number>();
/** Root folders that were found to be good. */
const goodRoots = new Set<string>();

/**
 * The cache's root folder. Throws SetupError when it cannot be had, or when another user could have
 * put something into it: programs in it are executed.
 */
export function cacheRoot(): string {
  const root = cacheFolder();
  if (!goodRoots.has(root)) makeRoot(root);
  goodRoots.add(root);
  return root;
}

/** A name that no other process uses, for a file that is moved to `path` when it is whole. */
export function temporaryBeside(path: string): string {
  return `${path}.tmp-${randomUUID()}`;
}

function makeRoot(root: string): void {
  const part = findStrangersPart(root);
  if (part !== undefined) throw new SetupError(`the cache ${root}: ${part} belongs to another user; ${REMEDY}`);
  try {
    makeFolder(root);
    accessSync(root, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SetupError(`the cache ${root} cannot be written to (${code}); ${REMEDY}`);
  }
}

/** The folder of the recipe's artifact, built first when it is absent or lacks an output. */
export async function provide(recipe: Recipe): Promise<string> {
  const root = join(cacheRoot(), 'artifacts');
  const directory = join(root, `${recipe.name}-${hashOf(recipe.key)}`);
  if (isWhole(directory, recipe)) return directory;
  const label = recipe.label ?? `making ${recipe.name}`;
  const build = async (): Promise<void> => {
    if (isWhole(directory, recipe)) return;
    await removeLeftovers(root, recipe.name, directory);
    rmSync(directory, { recursive: true, force: true });
    // The lock makes the name unique.
    const temporary = `${directory}.tmp`;
    mkdirSync(temporary, { recursive: true });
    try {
      await withProgress(label, () => recipe.build(temporary, directory), recipe.explain?.());
      renameSync(temporary, directory);
      // An unpacked archive may have given the folder an old time.
      touch(directory);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
    await prune(root, recipe);
  };
  await withLock(lockOf(directory), build, label);
  if (!isWhole(directory, recipe))
    throw new Error(`${recipe.name}: the recipe did not make ${recipe.outputs.join(', ')}`);
  return directory;
}

/** A short hexadecimal hash of JSON data, the same for the same data in every run. */
export function hashOf(key: unknown): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16);
}

function isWhole(directory: string, recipe: Recipe): boolean {
  const hasAll = (): boolean => recipe.outputs.every((output) => existsSync(join(directory, output)));
  if (!hasAll()) return false;
  touch(directory);
  keepOpen(directory);
  // It may have been removed before it was open.
  return hasAll();
}

/** Shows a removal that this process uses the folder, until it ends (cache-users.ts). */
function keepOpen(directory: string): void {
  const held = open.get(directory);
  if (held !== undefined && fstatSync(held).nlink > 0) return;
  // The folder that was open has been removed and made anew.
  if (held !== undefined) closeSync(held);
  open.set(directory, openSync(directory, 'r'));
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
async function removeLeftovers(root: string, name: string, directory: string): Promise<void> {
  for (const entry of listArtifacts(root, name).filter((entry) => HALF_BUILT.test(entry))) {
    const artifact = join(root, entry.replace(HALF_BUILT, ''));
    const remove = async (): Promise<void> =>
      // Children of a dead run may still write there for a moment.
      rmSync(join(root, entry), { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    if (artifact === directory) await remove();
    else await withLockIfFree(lockOf(artifact), remove);
  }
}

/**
 * Removes old artifacts that no other process uses: a cluster starts nodes again hours after its
 * first boot. Lock files stay: a run that waits for a removed one would not exclude a run with a
 * new one.
 */
async function prune(root: string, recipe: Recipe): Promise<void> {
  const entries = listArtifacts(root, recipe.name)
    .filter((entry) => !HALF_BUILT.test(entry))
    // Another process may prune at the same time, so an entry may have gone.
    .map((entry) => ({
      path: join(root, entry),
      usedMs: statSync(join(root, entry), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.usedMs - a.usedMs);
  const isOld = ({ usedMs }: { usedMs: number }): boolean => Date.now() - usedMs >= (recipe.inUseMs ?? IN_USE_MS);
  const old = entries.slice(recipe.keep ?? 3).filter(isOld);
  if (old.length === 0) return;
  const userOf = lookForUsers(root);
  for (const { path } of old.filter(({ path }) => userOf(path) === undefined))
    await withLockIfFree(lockOf(path), async () => rmSync(path, { recursive: true, force: true }));
}

function listArtifacts(root: string, name: string): string[] {
  if (!existsSync(root)) return [];
  const pattern = new RegExp(`^${name}-[0-9a-f]{16}(${HALF_BUILT.source.slice(0, -1)})?$`);
  return readdirSync(root).filter((entry) => pattern.test(entry));
}
