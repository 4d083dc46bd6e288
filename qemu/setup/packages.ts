// SPDX-License-Identifier: Apache-2.0
/**
 * Remembers apt's answer to each package request, so that a warm cache does not call apt, and
 * fetches the files. A file is used only when its size and SHA-256 are those of apt's signed index;
 * a truncated or corrupt file is fetched again. When the mirror no longer has a remembered version,
 * the index is refreshed and apt asked once more. Called by the recipes that start from Debian
 * packages.
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ArchiveFile, askApt, downloadWithApt, type PackageRequest } from './apt.ts';
import { cacheRoot, hashOf, temporaryBeside } from './cache.ts';
import { withProgress } from './progress.ts';
import { chooseRemedy, run } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/** Turns a request into files of the archive; `refresh` asks for a new package index first. */
export type Resolver = (refresh: boolean) => Promise<ArchiveFile[]>;

/** A file to download and its place. */
export interface DownloadItem {
  readonly file: ArchiveFile;
  readonly target: string;
}

/** Downloads what it can and returns the messages of apt. */
export type Download = (items: readonly DownloadItem[]) => Promise<string>;

/** The network, and how long to wait before another try; tests have their own. */
export interface Transport {
  readonly download: Download;
  readonly pauseMs: number;
}

const TRIES = 3;
const APT_TRANSPORT: Transport = { download: downloadWithApt, pauseMs: 700 };

/** Set by `--refresh`: each request asks apt again, with a new index, once in this process. */
let refreshAll = false;
const refreshed = new Set<string>();

/** Makes every remembered answer count as out of date for this process. */
export function refreshPackages(): void {
  refreshAll = true;
}

/**
 * Calls `use` with the files of the request called `name`. `question` is the JSON data the answer
 * depends on. When the archive has dropped a version, the request is resolved again and `use`
 * called again.
 */
export async function withPackages<T>(
  name: string,
  question: unknown,
  resolver: Resolver,
  use: (files: readonly ArchiveFile[]) => Promise<T>,
): Promise<T> {
  const memory = memoryOf(name, question);
  const wanted = refreshAll && !refreshed.has(memory);
  try {
    return await use(await resolve(memory, resolver, wanted));
  } catch (error) {
    if (!(error instanceof VersionGone)) throw error;
    return await use(await resolve(memory, resolver, true));
  }
}

/** The files that apt named last for a request; undefined when nothing is remembered. */
export function recallPackages(name: string, question: unknown): readonly ArchiveFile[] | undefined {
  return recall(memoryOf(name, question));
}

/** Like `withPackages` for a plain request to apt. */
export function withRequest<T>(
  name: string,
  request: PackageRequest,
  use: (files: readonly ArchiveFile[]) => Promise<T>,
): Promise<T> {
  return withPackages(name, request, (refresh) => askApt(request, refresh), use);
}

/**
 * Fetches `files` and returns their paths in the same order; each is whole and has the hash of the
 * index.
 */
export async function fetchFiles(
  files: readonly ArchiveFile[],
  transport: Transport = APT_TRANSPORT,
): Promise<string[]> {
  const directory = downloadDirectory(files);
  mkdirSync(directory, { recursive: true });
  const megabytes = files.reduce((sum, file) => sum + file.sizeBytes, 0) / 1e6;
  const label = `downloading ${files.length === 1 ? files[0]?.file : `${files.length} packages`} (${megabytes.toFixed(0)} MB)`;
  return withProgress(label, async () => {
    const items = files.map((file) => ({ file, target: join(directory, file.file) }));
    let missing = await findMissing(items);
    for (let attempt = 1, said = ''; missing.length > 0; attempt++) {
      if (attempt > TRIES) throw describeMissing(missing, said);
      if (attempt > 1) await delay(transport.pauseMs * (attempt - 1));
      said = await downloadSafely(missing, transport.download);
      missing = await findMissing(missing);
    }
    return items.map((item) => item.target);
  });
}

/** Removes the downloads of `files`, when an artifact has been built from them. */
export function dropFiles(files: readonly ArchiveFile[]): void {
  rmSync(downloadDirectory(files), { recursive: true, force: true });
}

/**
 * Unpacks binary packages into `directory`. Packages of Debian 12 have files in /lib and /bin; they
 * come to /usr/lib and /usr/bin, as in later releases.
 */
export async function unpackPackages(paths: readonly string[], directory: string): Promise<void> {
  await withProgress(`unpacking ${paths.length} packages`, async () => {
    for (const path of paths) await run('dpkg-deb', ['--extract', path, directory]);
    for (const name of ['bin', 'lib', 'lib64', 'sbin']) {
      const outside = join(directory, name);
      if (lstatSync(outside, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
      mkdirSync(join(directory, 'usr', name), { recursive: true });
      await run('cp', ['--archive', '--link', `${outside}/.`, join(directory, 'usr', name)]);
      rmSync(outside, { recursive: true });
    }
  });
}

/** Unpacks the scripts of packages (`postinst` and others), each package into its own folder. */
export async function unpackScripts(paths: readonly string[], directory: string): Promise<void> {
  for (const path of paths) await run('dpkg-deb', ['--control', path, join(directory, basename(path))]);
}

/** The name of the package that a file has. */
export function nameOfPackage({ file }: ArchiveFile): string {
  return decodeURIComponent(file).split('_')[0] as string;
}

function memoryOf(name: string, question: unknown): string {
  return join(cacheRoot(), 'resolved', `${name}-${hashOf(question)}.json`);
}

/** The archive no longer has a file that apt named earlier. */
class VersionGone extends SetupError {}

async function resolve(memory: string, resolver: Resolver, refresh: boolean): Promise<readonly ArchiveFile[]> {
  if (!refresh) {
    const remembered = recall(memory);
    if (remembered !== undefined) return remembered;
  }
  const files = await resolver(refresh);
  refreshed.add(memory);
  mkdirSync(join(cacheRoot(), 'resolved'), { recursive: true });
  const temporary = temporaryBeside(memory);
  writeFileSync(temporary, JSON.stringify(files, null, 1));
  renameSync(temporary, memory);
  return files;
}

function recall(memory: string): readonly ArchiveFile[] | undefined {
  try {
    const files: unknown = JSON.parse(readFileSync(memory, 'utf8'));
    return Array.isArray(files) && files.length > 0 ? (files as ArchiveFile[]) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Each set of files has a folder: two recipes may share a package, and one must not drop files of
 * the other.
 */
function downloadDirectory(files: readonly ArchiveFile[]): string {
  return join(cacheRoot(), 'downloads', hashOf(files.map((file) => file.sha256)));
}

async function findMissing(items: readonly DownloadItem[]): Promise<DownloadItem[]> {
  const missing: DownloadItem[] = [];
  for (const item of items) if (!(await isIntact(item.target, item.file))) missing.push(item);
  return missing;
}

/** Downloads beside the targets and moves whole files there, so that no run sees a partial file. */
async function downloadSafely(items: readonly DownloadItem[], download: Download): Promise<string> {
  const partial = items.map(({ file, target }) => ({ file, target: temporaryBeside(target) }));
  try {
    const said = await download(partial);
    for (const [i, item] of items.entries()) {
      const { target } = partial[i] as DownloadItem;
      if (await isIntact(target, item.file)) renameSync(target, item.target);
    }
    return said;
  } finally {
    for (const { target } of partial) rmSync(target, { force: true });
  }
}

function describeMissing(missing: readonly DownloadItem[], said: string): SetupError {
  const names = missing.map((item) => item.file.file).join(', ');
  const remedy = chooseRemedy(said, 'Check the network, or set VUHCA_DEBIAN_MIRROR to another Debian mirror.');
  const message = `cannot download ${names} after ${TRIES} tries. ${remedy} apt said: ${said.slice(-1000)}`;
  return /\b404\b/.test(said) ? new VersionGone(message) : new SetupError(message);
}

async function isIntact(path: string, file: ArchiveFile): Promise<boolean> {
  if (!existsSync(path) || statSync(path).size !== file.sizeBytes) return false;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex') === file.sha256;
}
