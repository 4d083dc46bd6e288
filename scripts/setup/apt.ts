// SPDX-License-Identifier: Apache-2.0
//
// A private apt: its own sources (Debian trixie, trixie-updates, trixie-backports), index and package state under the
// cache, but the machine's own configuration for proxies, TLS and authentication. It needs no root and touches
// nothing of the machine's. It answers which files a package request means; packages.ts remembers and fetches them.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheRoot } from './cache.ts';
import { run, tryRun } from './command.ts';
import { SetupError } from './errors.ts';
import { withLock } from './lock.ts';
import { findMirror } from './mirror.ts';
import { withProgress } from './progress.ts';

/** One file of the Debian archive, as apt's signed index describes it. */
export interface ArchiveFile {
  readonly uri: string;
  /** The name apt gives it, with the version in it. */
  readonly file: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Which files of the archive are wanted. */
export type PackageRequest =
  /** Exactly these binary packages, each `name` or `name=version` or `name/suite`. */
  | { readonly kind: 'packages'; readonly names: readonly string[] }
  /** These packages of `suite` and everything they depend on, without recommendations. */
  | { readonly kind: 'closure'; readonly names: readonly string[]; readonly suite: string }
  /** The upstream archive of a source package. */
  | { readonly kind: 'upstream-source'; readonly names: readonly [string] };

const SUITES = ['trixie', 'trixie-updates', 'trixie-backports'];
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const HELPER = '/usr/lib/apt/apt-helper';

/** Asks apt which files `request` means, fetching the package index first when there is none or `refresh` is set. */
export async function askApt(request: PackageRequest, refresh: boolean): Promise<ArchiveFile[]> {
  return withLock(join(cacheRoot(), 'locks', 'apt.lock'), async () => {
    await prepareIndex(refresh);
    const files = parseUris(await run('apt-get', queryArguments(request), { env: aptEnvironment() }));
    if (files.length === 0)
      throw new SetupError(`apt names no file for ${request.names.join(' ')}; run with --refresh.`);
    return files;
  });
}

/** The packages a binary package depends on directly, first alternatives only. */
export async function readDependencies(name: string): Promise<string[]> {
  return withLock(join(cacheRoot(), 'locks', 'apt.lock'), async () => {
    await prepareIndex(false);
    const shown = await run('apt-cache', ['show', '--no-all-versions', name], { env: aptEnvironment() });
    const depends = /^Depends: (.*)$/m.exec(shown)?.[1] ?? '';
    return depends.split(',').map((part) => part.trim().split(/[ |]/)[0] as string);
  });
}

/** Downloads one file to `target` through apt's own transport, which checks the hash; false when that failed. */
export async function downloadWithApt(file: ArchiveFile, target: string): Promise<{ ok: boolean; said: string }> {
  const args = ['download-file', file.uri, target, `SHA256:${file.sha256}`];
  const result = await tryRun(HELPER, args, { env: aptEnvironment() });
  return { ok: result.status === 0, said: `${result.stdout}${result.stderr}`.trim() };
}

/** Reads the lines of `apt-get --print-uris`: `'uri' file size SHA256:hash`. */
export function parseUris(text: string): ArchiveFile[] {
  const files: ArchiveFile[] = [];
  for (const match of text.matchAll(/^'([^']+)' (\S+) ([0-9]+) SHA256:([0-9a-f]{64})$/gm)) {
    const [, uri, file, size, sha256] = match as unknown as [string, string, string, string, string];
    files.push({ uri, file, sizeBytes: Number(size), sha256 });
  }
  return files;
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

async function prepareIndex(refresh: boolean): Promise<void> {
  const root = join(cacheRoot(), 'apt');
  const sources = sourcesText(findMirror());
  const ready = join(root, 'ready');
  writeConfiguration(root, sources);
  if (!refresh && existsSync(ready)) return;
  rmSync(ready, { force: true });
  const update = ['update', '-o', 'APT::Update::Error-Mode=any'];
  const onFailure = 'Check the network, or set VUHCA_DEBIAN_MIRROR to a Debian mirror that has trixie.';
  await withProgress('fetching the package index of Debian trixie', () =>
    run('apt-get', update, { env: aptEnvironment(), onFailure }),
  );
  writeFileSync(ready, '');
}

function sourcesText(mirror: string): string {
  if (!existsSync(KEYRING)) throw new SetupError(`${KEYRING} is missing; run: apt-get install debian-archive-keyring`);
  return [
    'Types: deb deb-src',
    `URIs: ${mirror}`,
    `Suites: ${SUITES.join(' ')}`,
    'Components: main',
    `Signed-By: ${KEYRING}`,
    '',
  ].join('\n');
}

function writeConfiguration(root: string, sources: string): void {
  for (const directory of ['lists/partial', 'cache/archives/partial', 'etc']) {
    mkdirSync(join(root, directory), { recursive: true });
  }
  writeFileSync(join(root, 'etc', 'debian.sources'), sources);
  // An empty status file: nothing counts as installed, so a closure is complete.
  writeFileSync(join(root, 'status'), '');
  writeFileSync(join(root, 'apt.conf'), configurationText(root));
}

function configurationText(root: string): string {
  const settings: [string, string][] = [
    ['APT::Architecture', 'amd64'],
    ['APT::Architectures', 'amd64'],
    ['APT::Sandbox::User', process.getuid?.() === 0 ? 'root' : ''],
    ['APT::Default-Release', ''],
    ['Acquire::Retries', '3'],
    ['Acquire::Languages', 'none'],
    ['Dir::Etc::sourcelist', `${root}/etc/debian.sources`],
    ['Dir::Etc::sourceparts', '/dev/null'],
    ['Dir::Etc::preferences', '/dev/null'],
    ['Dir::Etc::preferencesparts', '/dev/null'],
    ['Dir::State', root],
    ['Dir::State::lists', `${root}/lists`],
    ['Dir::State::status', `${root}/status`],
    ['Dir::State::extended_states', `${root}/extended_states`],
    ['Dir::Cache', `${root}/cache`],
    ['Dir::Cache::pkgcache', 'pkgcache.bin'],
    ['Dir::Cache::srcpkgcache', 'srcpkgcache.bin'],
  ];
  return settings.map(([name, value]) => `${name} "${value}";\n`).join('');
}

// APT_CONFIG is read before apt.conf.d, which the machine's proxy settings may be in; both apply. Where they set the
// same name the later one wins, so the few names Debian's container images set there are set again by options.
function aptEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, LC_ALL: 'C.UTF-8', APT_CONFIG: join(cacheRoot(), 'apt', 'apt.conf') };
}
