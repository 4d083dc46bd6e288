// SPDX-License-Identifier: Apache-2.0
/**
 * Removes parts of the cache that nobody uses: no process makes one or waits for it (its lock is
 * free), and none has it open or names it. Parts are moved aside under their locks before the last
 * look, so a command that starts meanwhile finds each whole or absent; a removal that is killed
 * leaves what the next one removes. Called by `vuhca setup --remove`.
 */
import { lstatSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cacheRoot } from './cache.ts';
import type { CacheEntry } from './cache-contents.ts';
import { type FindUser, lookForUsers } from './cache-users.ts';
import { withLockIfFree } from './lock.ts';

/** An entry and why it is still there; it is gone when there is no reason. */
export interface Removal {
  readonly entry: CacheEntry;
  readonly kept?: string;
}

/** How many are moved aside before one look at the processes. */
const BATCH = 16;
const ASIDE = '.tmp';

/** Removes the entries. `look` finds users of paths below a folder; tests have their own. */
export async function removeEntries(entries: readonly CacheEntry[], look = lookForUsers): Promise<Removal[]> {
  const removals: Removal[] = [];
  for (let i = 0; i < entries.length; i += BATCH)
    removals.push(...(await removeBatch(entries.slice(i, i + BATCH), () => look(realpathSync(cacheRoot())))));
  return removals;
}

async function removeBatch(entries: readonly CacheEntry[], look: () => FindUser): Promise<Removal[]> {
  const findNow = look();
  const removals: Removal[] = [];
  const moved: CacheEntry[] = [];
  const held = new Set<string>();
  const moveFrom = async (index: number): Promise<void> => {
    const entry = entries[index];
    if (entry === undefined) {
      const findLate = look();
      removals.push(...moved.map((one) => finish(one, findLate)));
      return;
    }
    const user = findNow(realPath(entry.path));
    if (user !== undefined) removals.push({ entry, kept: describeUser(user) });
    let isFree = false;
    if (user === undefined)
      await withLocks(entry.locks, held, async () => {
        isFree = true;
        if (moveAside(entry.path)) moved.push(entry);
        else removals.push({ entry });
        await moveFrom(index + 1);
      });
    if (isFree) return;
    if (user === undefined) removals.push({ entry, kept: 'another process makes it' });
    await moveFrom(index + 1);
  };
  await moveFrom(0);
  return removals;
}

/** Awaits `work` while holding all locks, also those in `held`; does nothing when one is busy. */
async function withLocks(locks: readonly string[], held: Set<string>, work: () => Promise<void>): Promise<void> {
  const name = locks.find((one) => !held.has(one));
  if (name === undefined) return work();
  await withLockIfFree(join(cacheRoot(), 'locks', name), async () => {
    held.add(name);
    await withLocks(locks, held, work);
    held.delete(name);
  });
}

/** False when there is nothing at the path any more. */
function moveAside(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
  if (path === asideOf(path)) return true;
  rmSync(asideOf(path), { recursive: true, force: true });
  try {
    renameSync(path, asideOf(path));
    return true;
  } catch (error) {
    // What has no lock may go at any time.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Removes what was moved aside, or puts it back for a process that has begun to use it. */
function finish(entry: CacheEntry, findUser: FindUser): Removal {
  const aside = asideOf(entry.path);
  const user = findUser(realPath(aside)) ?? findUser(realPath(entry.path));
  if (user !== undefined) {
    if (aside !== entry.path) renameSync(aside, entry.path);
    return { entry, kept: describeUser(user) };
  }
  try {
    rmSync(aside, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    return { entry };
  } catch (error) {
    return { entry, kept: `it cannot be removed (${(error as NodeJS.ErrnoException).code})` };
  }
}

function describeUser(user: number): string {
  return `process ${user} uses it`;
}

/** Its name ends as those of half-built folders do, which a later run removes. */
function asideOf(path: string): string {
  return path.endsWith(ASIDE) ? path : `${path}${ASIDE}`;
}

/** The path as the kernel shows it: links above it are followed, a link at its end is not. */
function realPath(path: string): string {
  return join(realpathSync(dirname(path)), basename(path));
}
