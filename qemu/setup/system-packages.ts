// SPDX-License-Identifier: Apache-2.0
/**
 * The Debian packages that the machine itself must have: a C compiler and meson for libvfio-user,
 * tools that unpack and patch, and tshark for the tests. Looks for a file or program of each
 * package instead of calling dpkg, so a machine that has all loses no time. Missing ones are
 * installed as root or through sudo without a password; otherwise the error is the command to type.
 * Called by set-up before anything is built.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheRoot } from './cache.ts';
import { findProgram } from './find-program.ts';
import { withLock } from './lock.ts';
import { withProgress } from './progress.ts';
import { type CommandResult, tryRun } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/**
 * A package and evidence that it is installed: a program on PATH, or a file when it begins with a
 * slash.
 */
export interface SystemPackage {
  readonly name: string;
  readonly evidence: string;
}

/** The packages for building and launching. */
export const BASE_PACKAGES: readonly SystemPackage[] = [
  { name: 'gcc', evidence: 'gcc' },
  { name: 'libc6-dev', evidence: '/usr/include/stdio.h' },
  { name: 'make', evidence: 'make' },
  { name: 'meson', evidence: 'meson' },
  { name: 'ninja-build', evidence: 'ninja' },
  { name: 'pkg-config', evidence: 'pkg-config' },
  { name: 'libjson-c-dev', evidence: '/usr/include/json-c/json.h' },
  { name: 'patch', evidence: 'patch' },
  { name: 'patchelf', evidence: 'patchelf' },
  // The kernel's checks of comments (W=1) are Perl scripts that need more than perl-base.
  { name: 'perl', evidence: 'pod2usage' },
  { name: 'xz-utils', evidence: 'xz' },
  { name: 'zstd', evidence: 'zstd' },
  { name: 'debian-archive-keyring', evidence: '/usr/share/keyrings/debian-archive-keyring.gpg' },
];

/** The further packages for the tests. */
export const TEST_PACKAGES: readonly SystemPackage[] = [{ name: 'tshark', evidence: 'tshark' }];

/** The names of those `packages` without evidence. */
export function findMissingPackages(packages: readonly SystemPackage[], searchPath = process.env.PATH ?? ''): string[] {
  return packages.filter(({ evidence }) => !isPresent(evidence, searchPath)).map(({ name }) => name);
}

/**
 * Installs those missing. Throws SetupError with the command to type when that needs a password.
 */
export async function installMissingPackages(packages: readonly SystemPackage[]): Promise<void> {
  if (findMissingPackages(packages).length === 0) return;
  await withLock(join(cacheRoot(), 'locks', 'system-packages.lock'), async () => {
    const missing = findMissingPackages(packages);
    if (missing.length === 0) return;
    const prefix = await findPrivilege();
    if (prefix === undefined) throw new SetupError(describeManual(missing));
    await withProgress(`installing Debian packages: ${missing.join(' ')}`, () => install(prefix, missing));
  });
  const left = findMissingPackages(packages);
  if (left.length > 0)
    throw new SetupError(`apt-get installed ${left.join(' ')} but their programs are not on PATH; correct PATH.`);
}

/** The sentence for a user who must install by hand. */
export function describeManual(missing: readonly string[]): string {
  return `Debian packages are missing; run: sudo apt-get install --no-install-recommends ${missing.join(' ')}`;
}

function isPresent(evidence: string, searchPath: string): boolean {
  return evidence.startsWith('/') ? existsSync(evidence) : findProgram(evidence, searchPath) !== undefined;
}

/** The words that give root's rights: none, `sudo -n`, or undefined when there is no way. */
async function findPrivilege(): Promise<string[] | undefined> {
  if (process.getuid?.() === 0) return [];
  const sudo = await tryRun('sudo', ['-n', 'true']);
  return sudo.status === 0 ? ['sudo', '-n'] : undefined;
}

async function install(prefix: readonly string[], names: readonly string[]): Promise<void> {
  // The index may be missing or name versions that the mirror has dropped; an update corrects that.
  const options = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  const arguments_ = ['install', '--yes', '--no-install-recommends', ...names];
  let result = await runApt(prefix, [...options, ...arguments_]);
  if (result.status !== 0) {
    await runApt(prefix, [...options, 'update']);
    result = await runApt(prefix, [...options, ...arguments_]);
  }
  if (result.status === 0) return;
  const tail = result.stderr.trim().split('\n').slice(-5).join('\n');
  throw new SetupError(`apt-get could not install ${names.join(' ')}; correct the cause it reports:\n${tail}`);
}

function runApt(prefix: readonly string[], args: readonly string[]): Promise<CommandResult> {
  const [program, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args] as [string];
  return tryRun(program, rest, { mayOutliveParent: true });
}
