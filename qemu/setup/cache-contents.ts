// SPDX-License-Identifier: Apache-2.0
/**
 * Contents of the cache: every artifact, build folder and download with its kind, its size and the
 * time of its last use. Only names that set-up gives are listed; whatever else lies there is not
 * ours. Links are not followed. Called by `vuhca setup --sizes` and `--remove`.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../protocol/system/private-folder.mjs';
import { readRecord } from './module-record.ts';
import { readSetNames } from './package-set-names.ts';

/** The kind of roots with packages that a user has named. */
export const SETS = 'sets';
/** The kind of an artifact, by the name of its recipe; the name itself where it is not listed. */
const KIND_OF_RECIPE: Readonly<Record<string, string>> = {
  'libvfio-user': 'library',
  'guest-kernel': 'kernel',
  'kernel-elf': 'kernel',
  'kernel-toolchain': 'toolchain',
  'kernel-modules': 'modules',
  'kernel-symbols': 'symbols',
  'distribution-packages': 'distribution',
  'package-set': SETS,
  'package-image': SETS,
  initramfs: 'images',
  browser: 'programs',
  'bench-probe': 'programs',
  'bench-twin': 'programs',
  'provider-headers': 'programs',
  'tsc-rate': 'programs',
  'verbs-programs': 'programs',
  'verbs-provider': 'programs',
};
const ARTIFACT = /^([a-z][a-z0-9-]*)-([0-9a-f]{16})(?:\.tmp(?:-[0-9]+)?)?$/;
const BUILD = /^module-([0-9a-f]{16})(?:\.tmp)?$/;
const DOWNLOAD = /^[0-9a-f]{16}(?:\.tmp)?$/;
const ANSWER = /^[a-z][a-z0-9-]*-[0-9a-f]{16}\.json(?:\.tmp(?:-[0-9a-f-]+)?)?$/;
/** Where packages of Debian have the release of a kernel in a path. */
const RELEASE_FOLDERS = ['usr/lib/modules', 'usr/src'];
const RELEASE = /^(?:linux-headers-)?([0-9][^/]*-amd64)$/;
const INDEX = /^(apt(?:-bookworm)?)(?:\.tmp)?$/;
const TRANSLATED = /^tsx(?:\.tmp)?$/;
const BLOCK_BYTES = 512;

/** A part of the cache that is removed as one. */
export interface CacheEntry {
  readonly kind: string;
  readonly path: string;
  /** Its size on the disk. */
  readonly bytes: number;
  /** When it was used last, as Date.now() tells. */
  readonly usedMs: number;
  /** Lock files, below the cache's folder of locks, that nobody may hold when it is removed. */
  readonly locks: readonly string[];
  /** The kernel that it belongs to, where it belongs to one. */
  readonly release?: string;
  /** The packages of `--packages` that it has, where it has any: `fio,gcc`. */
  readonly packages?: string;
}

/** All that set-up has put into the cache; other processes may change it meanwhile. */
export function listCache(root = cacheFolder()): CacheEntry[] {
  const seen = new Set<string>();
  const read = (kind: string, path: string, locks: readonly string[], release?: string): CacheEntry[] => {
    const packages = kind === SETS ? readSetNames(path) : undefined;
    return readEntry({ kind, path, locks, ...(release && { release }), ...(packages && { packages }) }, seen);
  };
  const artifacts = list(root, 'artifacts', ARTIFACT);
  // A recipe that is being made reads its downloads.
  const making = artifacts.flatMap(([path, recipe, hash]) => (/\.tmp/.test(path) ? [`${recipe}-${hash}.lock`] : []));
  return [
    ...artifacts.flatMap(([path, recipe = '', hash]) =>
      read(KIND_OF_RECIPE[recipe] ?? recipe, path, [`${recipe}-${hash}.lock`], releaseOf(path)),
    ),
    ...list(root, 'builds', BUILD).flatMap(([path, hash]) =>
      read('modules', path, [`build-${hash}.lock`, `compilers-${hash}.lock`], readRecord(path)?.release),
    ),
    ...list(root, 'downloads', DOWNLOAD).flatMap(([path]) => read('packages', path, making)),
    ...list(root, 'resolved', ANSWER).flatMap(([path]) => read('packages', path, [])),
    ...list(root, '', INDEX).flatMap(([path, name]) => read('packages', path, [`${name}.lock`])),
    ...list(root, '', TRANSLATED).flatMap(([path]) => read('sources', path, [])),
  ];
}

/**
 * The entry with its size and last use; nothing when another process has removed it. `seen` has the
 * files that were counted already.
 */
export function readEntry(entry: Omit<CacheEntry, 'bytes' | 'usedMs'>, seen = new Set<string>()): CacheEntry[] {
  const status = lstatSync(entry.path, { throwIfNoEntry: false });
  return status === undefined ? [] : [{ ...entry, bytes: measure(entry.path, seen), usedMs: status.mtimeMs }];
}

/** Paths in a folder of the cache whose names match, with the parts of the match. */
function list(root: string, folder: string, pattern: RegExp): [path: string, ...parts: string[]][] {
  const directory = join(root, folder);
  // A link may lead out of the cache.
  if (folder !== '' && lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return namesIn(directory).flatMap((name): [string, ...string[]][] => {
    const [whole, ...parts] = pattern.exec(name) ?? [];
    return whole === undefined ? [] : [[join(directory, name), ...parts]];
  });
}

/** The release of the kernel that an artifact is of or for. */
function releaseOf(path: string): string | undefined {
  for (const folder of RELEASE_FOLDERS) {
    for (const name of namesIn(join(path, folder))) {
      const release = RELEASE.exec(name)?.[1];
      if (release !== undefined) return release;
    }
  }
  return undefined;
}

/** Bytes on disk; what several names share counts once. */
function measure(path: string, seen: Set<string>): number {
  const status = lstatSync(path, { throwIfNoEntry: false });
  // Another process may have removed it.
  if (status === undefined) return 0;
  const own = `${status.dev} ${status.ino}`;
  if (status.nlink > 1 && !status.isDirectory() && seen.has(own)) return 0;
  seen.add(own);
  const bytes = status.blocks * BLOCK_BYTES;
  if (!status.isDirectory()) return bytes;
  return namesIn(path).reduce((sum, name) => sum + measure(join(path, name), seen), bytes);
}

/** The names in a folder; none when it cannot be read, or has gone. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
