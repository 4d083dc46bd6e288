// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca setup --sizes` and `--remove`: lists the kinds of files in the cache with their
 * sizes, and those that were removed or are still in use. Called by setup.ts.
 */
import { basename } from 'node:path';
import { cacheFolder } from '../../../protocol/system/private-folder.mjs';
import { type CacheEntry, listCache } from '../../../qemu/setup/cache-contents.ts';
import { type Removal, removeEntries } from '../../../qemu/setup/cache-removal.ts';
import { lookForUsers } from '../../../qemu/setup/cache-users.ts';
import { recallRelease } from '../../../qemu/setup/guest-kernel.ts';
import { table } from '../../console/table.ts';
import type { CacheKind } from '../../setup/targets.ts';
import { UsageError } from '../options/usage-error.ts';
import { bytes, duration } from '../screens/screen-text.ts';

/** A part of the cache. */
export interface Selection {
  readonly kind: CacheKind;
  /** A kernel by its name or the beginning of its version. */
  readonly kernel?: string | undefined;
  readonly unusedDays?: number | undefined;
}

const DAY_MS = 86_400_000;
/** Targets that lie in the folder of another one. */
const SAME: Partial<Record<CacheKind, string>> = { include: 'library' };

/** The sizes of the selected part. Throws UsageError for a kernel without entries. */
export function showSizes(selection: Selection): string {
  const entries = select(listCache(), selection);
  const kinds = [...new Set(entries.map(({ kind }) => kind))];
  const rows = kinds.map((kind) =>
    describe(
      kind,
      entries.filter((entry) => entry.kind === kind),
    ),
  );
  const sorted = rows.sort((a, b) => b.size - a.size).map(({ cells }) => cells);
  const { cells } = describe('all', entries);
  const kindsTable = table([['kind', 'entries', 'size', 'last used'], ...sorted, cells], 1);
  return `${cacheFolder()}\n${kindsTable}${describeSets(entries)}`;
}

/** The sets of packages that users have named, the least recently used one first. */
function describeSets(entries: readonly CacheEntry[]): string {
  const names = [...new Set(entries.flatMap(({ packages }) => packages ?? []))];
  if (names.length === 0) return '';
  const sets = names.map((name) => entries.filter(({ packages }) => packages === name));
  const rows = sets
    .map((parts) => ({ parts, usedMs: Math.max(...parts.map(({ usedMs }) => usedMs)) }))
    .sort((a, b) => a.usedMs - b.usedMs)
    .map(({ parts }) => describe(parts[0]?.packages ?? '', parts).cells);
  const advice = 'Sets stay until `vuhca setup sets --remove --unused DAYS` removes them.';
  return `\n${table([['packages', 'entries', 'size', 'last used'], ...rows], 1)}${advice}\n`;
}

/**
 * Removes the selected part; reports removed and remaining entries. `look` is as in
 * removeEntries().
 */
export async function removeFromCache(selection: Selection, look = lookForUsers): Promise<string> {
  const removals = await removeEntries(select(listCache(), selection), look);
  const gone = removals.filter(({ kept }) => kept === undefined).map(({ entry }) => entry);
  const kinds = [...new Set(gone.map(({ kind }) => kind))];
  const rows = kinds.map((kind) =>
    describe(
      kind,
      gone.filter((entry) => entry.kind === kind),
    ).cells.slice(0, 3),
  );
  const { cells } = describe('all', gone);
  const lines = removals.flatMap((removal) => describeKept(removal));
  return `removed from ${cacheFolder()}:\n${table([...rows, cells.slice(0, 3)], 1)}${lines.join('')}`;
}

function describeKept({ entry, kept }: Removal): string[] {
  return kept === undefined ? [] : [`stays: ${basename(entry.path)} (${bytes(entry.bytes)}): ${kept}\n`];
}

interface Row {
  readonly size: number;
  readonly cells: (string | number)[];
}

function describe(kind: string, entries: readonly CacheEntry[]): Row {
  const size = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  const usedMs = Math.max(...entries.map((entry) => entry.usedMs));
  const used = entries.length === 0 ? '' : `${duration(Math.max(0, Date.now() - usedMs) * 1e6)} ago`;
  return { size, cells: [kind, entries.length, bytes(size), used] };
}

function select(all: readonly CacheEntry[], { kind, kernel, unusedDays }: Selection): CacheEntry[] {
  const name = SAME[kind] ?? kind;
  const isWanted = kernel === undefined ? () => true : findKernel(all, kernel);
  const before = unusedDays === undefined ? Number.POSITIVE_INFINITY : Date.now() - unusedDays * DAY_MS;
  return all.filter((entry) => (name === 'all' || entry.kind === name) && isWanted(entry) && entry.usedMs < before);
}

/** True if an entry belongs to the kernel called `wanted`. */
function findKernel(all: readonly CacheEntry[], wanted: string): (entry: CacheEntry) => boolean {
  const releases = [...new Set(all.flatMap(({ release }) => release ?? []))].sort();
  const named = recallRelease(wanted);
  const fitting = releases.filter(
    (release) => release === named || `${release}.`.startsWith(`${wanted}.`) || release === wanted,
  );
  if (fitting.length > 0) return ({ release }) => release !== undefined && fitting.includes(release);
  const there = releases.length === 0 ? 'it has nothing of any kernel' : `it has ${releases.join(', ')}`;
  throw new UsageError(`the cache has nothing of a kernel ${wanted}; ${there}`);
}
