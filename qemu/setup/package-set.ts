// SPDX-License-Identifier: Apache-2.0
/**
 * The root of a guest with further packages of Debian, named by the user. Only what the root lacks
 * is fetched and unpacked; all else are links to the files of the root that every guest has. Each
 * set of packages and versions is an artifact of its own, and stays until it is removed. Called by
 * distribution.ts.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveFile, askApt } from './apt.ts';
import { provide } from './cache.ts';
import { removeUnwanted } from './distribution-root.ts';
import { configurePackages } from './package-configuration.ts';
import { SET_NAMES, writeSetNames } from './package-set-names.ts';
import { dropFiles, fetchFiles, nameOfPackage, unpackPackages, unpackScripts, withPackages } from './packages.ts';
import { run } from './tools/command.ts';

const RECIPE_VERSION = 1;
/** Sets are costly to make again, so many stay; `vuhca setup --sizes` names them. */
export const SETS_KEPT = 32;
/** Configure packages, which package-configuration.ts does in their place, and run services. */
const INSTALLERS = ['adduser', 'debconf', 'dpkg', 'init-system-helpers', 'libpam-systemd', 'systemd', 'ucf'];
/** Programs that make accounts and folders, for the configuration. */
const TOOLS = ['systemd-standalone-sysusers', 'systemd-standalone-tmpfiles'];
/** More names would not fit into a line. */
const NAMES_TOLD = 4;
/** A compiler only recommends the headers of the C library, without which it compiles little. */
const COMPILER = /^(?:gcc|clang)(?:-\d+)?$/;
const LIBRARY_PATHS = 'etc/ld.so.conf.d';

/** The root that all sets begin with. */
export interface PackageBase {
  readonly suite: string;
  /** The packages that it was made for. */
  readonly names: readonly string[];
  /** Dependencies that it does without. */
  readonly except: readonly string[];
  /** Dependencies that nobody gets without naming them. */
  readonly never: readonly string[];
  /** What was unpacked, and where. */
  readonly files: readonly ArchiveFile[];
  readonly path: string;
}

/**
 * The folder with the root and `packages`; that of the base when it has them all. Throws SetupError
 * for packages that do not exist, or that cannot be installed together.
 */
export function providePackageSet(base: PackageBase, packages: readonly string[]): Promise<string> {
  const more = packages.some((name) => COMPILER.test(name)) ? ['libc6-dev'] : [];
  const names = [...new Set([...packages, ...more])].sort();
  const { suite, except, never } = base;
  const question = { suite, base: base.names, except: [...except, ...INSTALLERS], never, names, tools: TOOLS };
  return withPackages(
    'package-set',
    question,
    (refresh) => findFiles(base, names, refresh),
    async (found) => {
      const present = new Set(base.files.map(({ sha256 }) => sha256));
      const files = found.filter(({ sha256 }) => !present.has(sha256));
      return files.every((file) => TOOLS.includes(nameOfPackage(file))) ? base.path : makeSet(base, names, files);
    },
  );
}

/** What the base and the packages need together, and the tools of the configuration. */
async function findFiles(
  { suite, names: baseNames, except, never }: PackageBase,
  names: readonly string[],
  refresh: boolean,
): Promise<ArchiveFile[]> {
  const all = await askApt({ kind: 'closure', suite, names: [...baseNames, ...names] }, refresh);
  const needed = new Set((await askApt({ kind: 'closure', suite, names }, false)).map(nameOfPackage));
  const isWanted = (file: ArchiveFile): boolean => {
    const name = nameOfPackage(file);
    if (names.includes(name)) return true;
    if (INSTALLERS.includes(name) || never.includes(name)) return false;
    return needed.has(name) || !except.includes(name);
  };
  // They come last, because systemd has programs of the same names that need its library.
  return [...all.filter(isWanted), ...(await askApt({ kind: 'packages', names: TOOLS }, false))];
}

function makeSet(base: PackageBase, names: readonly string[], files: readonly ArchiveFile[]): Promise<string> {
  return provide({
    name: 'package-set',
    key: [RECIPE_VERSION, base.path, names, files.map(({ sha256 }) => sha256)],
    outputs: [SET_NAMES],
    keep: SETS_KEPT,
    label: `adding ${describeNames(names)} to Debian's user space`,
    build: async (target) => {
      const [added, scripts] = ['added', 'scripts'].map((name) => join(target, name)) as [string, string];
      for (const folder of [added, scripts]) mkdirSync(folder);
      const paths = await fetchFiles(files);
      await unpackPackages(paths, added);
      await unpackScripts(paths, scripts);
      await removeUnwanted(added);
      const before = listLibraryPaths(base.path);
      await run('cp', ['--archive', '--link', `${base.path}/.`, target]);
      // A file of the base may be older, and has further names in other folders.
      await run('cp', ['--archive', '--link', '--remove-destination', `${added}/.`, target]);
      const hasMore = listLibraryPaths(target).some((name) => !before.includes(name));
      await configurePackages(target, scripts, hasMore);
      writeSetNames(target, names);
      for (const folder of [added, scripts]) rmSync(folder, { recursive: true });
      dropFiles(files);
    },
  });
}

function describeNames(names: readonly string[]): string {
  return names.length > NAMES_TOLD ? `${names.length} packages` : names.join(', ');
}

function listLibraryPaths(root: string): string[] {
  const folder = join(root, LIBRARY_PATHS);
  return existsSync(folder) ? readdirSync(folder) : [];
}
