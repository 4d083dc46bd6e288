// SPDX-License-Identifier: Apache-2.0
/**
 * A private apt: its sources, index and package state lie in the cache; proxies, TLS and
 * authentication come from the machine's configuration. It has one index for Debian 13 (trixie,
 * trixie-updates, trixie-backports) and one for Debian 12, which only its kernel needs. It needs no
 * root and changes nothing outside the cache. It names the files of a package request; packages.ts
 * remembers and fetches them.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeRefusal } from './apt-refusals.ts';
import { cacheRoot } from './cache.ts';
import { withLock } from './lock.ts';
import { findMirror } from './mirror.ts';
import { withProgress } from './progress.ts';
import { describeFailure, run, tryRun } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/** One file of the Debian archive, as apt's signed index describes it. */
export interface ArchiveFile {
  readonly uri: string;
  /** The file name that apt gives it, which contains the version. */
  readonly file: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** A release of Debian with an index of its own. */
export type Distribution = 'trixie' | 'bookworm';

/** A version of a binary package, and the suite that has it. */
export interface PackageVersion {
  readonly name: string;
  readonly version: string;
  readonly suite: string;
}

/** Which files of the archive are wanted. */
export type PackageRequest =
  /** Exactly these binary packages, each `name` or `name=version` or `name/suite`. */
  | { readonly kind: 'packages'; readonly names: readonly string[] }
  /** These packages of `suite` and everything they depend on, without recommendations. */
  | {
      readonly kind: 'closure';
      readonly names: readonly string[];
      readonly suite: string;
      /** Names of dependencies that are left out. */
      readonly except?: readonly string[];
    }
  /** The upstream archive of a source package. */
  | { readonly kind: 'upstream-source'; readonly names: readonly [string] };

/** What the sources of a distribution say, and the folder of its index below the cache's root. */
const SOURCES: Record<Distribution, { readonly types: string; readonly suites: string; readonly folder: string }> = {
  trixie: { types: 'deb deb-src', suites: 'trixie trixie-updates trixie-backports', folder: 'apt' },
  bookworm: { types: 'deb', suites: 'bookworm bookworm-updates', folder: 'apt-bookworm' },
};
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const HELPER = '/usr/lib/apt/apt-helper';

/** The indexes that this process has fetched: once is enough for all requests. */
const refreshedHere = new Set<Distribution>();

/**
 * The files of `request`; fetches the package index first when there is none or `refresh` is set.
 */
export async function askApt(
  request: PackageRequest,
  refresh: boolean,
  from: Distribution = 'trixie',
): Promise<ArchiveFile[]> {
  return withIndex(from, refresh, async () => {
    const files = parseUris(await query('apt-get', from, queryArguments(request)));
    // For an installation apt prints no SHA-256, so each package is then requested by itself.
    const exact = request.kind === 'closure' ? await query('apt-get', from, exactPackages(files)) : undefined;
    const answer = exact === undefined ? files : parseUris(exact);
    if (answer.length > 0) return answer.filter((file) => !isExcluded(request, file));
    throw new SetupError(`apt names no file for ${request.names.join(' ')}; run set-up again with --refresh.`);
  });
}

/** The direct dependencies of a binary package, first alternatives only. */
export async function readDependencies(
  name: string,
  refresh: boolean,
  from: Distribution = 'trixie',
): Promise<string[]> {
  return withIndex(from, refresh, async () => {
    const shown = await query('apt-cache', from, ['show', '--no-all-versions', name]);
    const depends = /^Depends: (.*)$/m.exec(shown)?.[1] ?? '';
    return depends.split(',').map((part) => part.trim().split(/[ |]/)[0] as string);
  });
}

/** The versions of all binary packages whose names match the regular expression `pattern`. */
export async function findVersions(pattern: string, refresh: boolean, from: Distribution): Promise<PackageVersion[]> {
  return withIndex(from, refresh, async () => {
    const found = await query('apt-cache', from, ['search', '--names-only', pattern]);
    const names = found.split('\n').flatMap((line) => line.split(' ')[0] || []);
    return names.length === 0 ? [] : parseVersions(await query('apt-cache', from, ['madison', ...names]));
  });
}

/**
 * Downloads files through apt's own transport, which checks the hashes; returns what apt printed.
 */
export async function downloadWithApt(items: readonly { file: ArchiveFile; target: string }[]): Promise<string> {
  const triples = items.flatMap(({ file, target }) => [file.uri, target, `SHA256:${file.sha256}`]);
  const result = await tryRun(HELPER, [...aptOptions('trixie'), 'download-file', ...triples], {
    env: aptEnvironment(),
  });
  return `${result.stdout}${result.stderr}`.trim();
}

/**
 * Reads the lines of `apt-get --print-uris`: `'uri' file size SHA256:hash`; without a hash `sha256`
 * is empty.
 */
export function parseUris(text: string): ArchiveFile[] {
  const files: ArchiveFile[] = [];
  for (const match of text.matchAll(/^'([^']+)' (\S+) ([0-9]+) (?:SHA256:([0-9a-f]{64})|\S*)$/gm)) {
    const [, uri, file, size, sha256] = match as unknown as [string, string, string, string, string | undefined];
    files.push({ uri, file, sizeBytes: Number(size), sha256: sha256 ?? '' });
  }
  return files;
}

/** Reads the lines of `apt-cache madison`: `name | version | mirror suite/main amd64 Packages`. */
export function parseVersions(text: string): PackageVersion[] {
  return text.split('\n').flatMap((line) => {
    const match = /^ *(\S+) \| +(\S+) \| \S+ ([^ /]+)\/\S+ \S+ Packages$/.exec(line);
    if (match === null) return [];
    const [, name, version, suite] = match as unknown as [string, string, string, string];
    return [{ name, version, suite }];
  });
}

function queryArguments(request: PackageRequest): string[] {
  switch (request.kind) {
    case 'packages':
      return ['download', '--print-uris', ...request.names];
    case 'closure':
      return ['install', '--yes', '--no-install-recommends', '--print-uris', '-t', request.suite, ...request.names];
    case 'upstream-source':
      return ['source', '--tar-only', '--print-uris', ...request.names];
  }
}

/** `name=version` of each file, without the percent encoding of the epoch in a file name. */
function exactPackages(files: readonly ArchiveFile[]): string[] {
  const names = files.map(({ file }) => decodeURIComponent(file).split('_').slice(0, 2).join('='));
  return ['download', '--print-uris', ...names];
}

function isExcluded(request: PackageRequest, file: ArchiveFile): boolean {
  if (request.kind !== 'closure') return false;
  return request.except?.includes(file.file.split('_')[0] as string) ?? false;
}

async function query(program: 'apt-get' | 'apt-cache', from: Distribution, args: readonly string[]): Promise<string> {
  const words = [...aptOptions(from), ...args];
  const result = await tryRun(program, words, { env: aptEnvironment() });
  if (result.status === 0) return result.stdout;
  const refusal = describeRefusal(`${result.stdout}\n${result.stderr}`, from);
  throw new SetupError(refusal ?? describeFailure(program, words, result));
}

function withIndex<T>(from: Distribution, refresh: boolean, work: () => Promise<T>): Promise<T> {
  return withLock(join(cacheRoot(), 'locks', `${SOURCES[from].folder}.lock`), async () => {
    await prepareIndex(from, refresh);
    return work();
  });
}

async function prepareIndex(from: Distribution, refresh: boolean): Promise<void> {
  const root = aptRoot(from);
  const sources = sourcesText(findMirror(), from);
  const file = join(root, 'debian.sources');
  const ready = join(root, 'ready');
  const same = existsSync(file) && readFileSync(file, 'utf8') === sources;
  if (same && existsSync(ready) && (!refresh || refreshedHere.has(from))) return;
  rmSync(ready, { force: true });
  for (const directory of ['lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(root, directory), { recursive: true });
  }
  writeFileSync(file, sources);
  writeFileSync(join(root, 'status'), '');
  const args = ['update', '-o', 'APT::Update::Error-Mode=any'];
  const onFailure = `Check the network, or set VUHCA_DEBIAN_MIRROR to a Debian mirror that has ${from}.`;
  await withProgress(`fetching the package index of Debian ${from}`, () =>
    run('apt-get', [...aptOptions(from), ...args], { env: aptEnvironment(), onFailure }),
  );
  writeFileSync(ready, '');
  refreshedHere.add(from);
}

function sourcesText(mirror: string, from: Distribution): string {
  if (!existsSync(KEYRING)) throw new SetupError(`${KEYRING} is missing; run: apt-get install debian-archive-keyring`);
  return [
    `Types: ${SOURCES[from].types}`,
    `URIs: ${mirror}`,
    `Suites: ${SOURCES[from].suites}`,
    'Components: main',
    `Signed-By: ${KEYRING}`,
    '',
  ].join('\n');
}

/**
 * Options, and not a file named by APT_CONFIG: apt reads the machine's apt.conf.d after that file.
 * The status file is empty, so that nothing counts as installed and a closure is complete.
 */
function aptOptions(from: Distribution): string[] {
  const root = aptRoot(from);
  const settings: Record<string, string> = {
    'APT::Architecture': 'amd64',
    'APT::Architectures': 'amd64',
    'APT::Default-Release': '',
    'Acquire::Retries': '3',
    'Acquire::Languages': 'none',
    'Dir::Etc::sourcelist': `${root}/debian.sources`,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State': root,
    'Dir::State::lists': `${root}/lists`,
    'Dir::State::status': `${root}/status`,
    'Dir::Cache': `${root}/cache`,
    'Dir::Cache::pkgcache': 'pkgcache.bin',
    'Dir::Cache::srcpkgcache': 'srcpkgcache.bin',
    // The user _apt cannot enter root's cache folder.
    ...(process.getuid?.() === 0 ? { 'APT::Sandbox::User': 'root' } : {}),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

function aptRoot(from: Distribution): string {
  return join(cacheRoot(), SOURCES[from].folder);
}

function aptEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, LC_ALL: 'C.UTF-8' };
}
