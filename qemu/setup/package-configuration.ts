// SPDX-License-Identifier: Apache-2.0
/**
 * Configures further packages in the root of a guest, as their scripts would (maintainer-scripts.ts
 * reads those): alternatives, accounts, links and copies are made here, by Debian's own programs
 * with the root as their argument. What needs the rights of root, or the guest's own memory, is
 * left to a script that the guest runs as it starts (prepare-distribution.sh). Called by
 * package-set.ts.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { programOf } from './distribution-root.ts';
import { type OwnerChange, type PackageSetup, readPackageSetup, readServiceFolders } from './maintainer-scripts.ts';
import { run } from './tools/command.ts';

/** The guest runs it in its root, when it is there. */
const START_SCRIPT = 'etc/vuhca/start-packages.sh';
const ACCOUNTS = 'usr/lib/sysusers.d/vuhca-packages.conf';
const SECRETS = ['etc/shadow', 'etc/shadow-', 'etc/gshadow', 'etc/gshadow-'];
const SERVICES = 'usr/lib/systemd/system';
/** Configurations that scripts copy by programs of their own (ucf). */
const COPIES: PackageSetup['copies'] = [{ from: '/usr/share/openssh/sshd_config', to: '/etc/ssh/sshd_config' }];
/** What libpam-runtime generates of the modules that are there: those of every Debian machine. */
const PAM_FILES: Readonly<Record<string, string>> = {
  'common-auth': 'auth required pam_unix.so nullok\n',
  'common-account': 'account required pam_unix.so\n',
  'common-password': 'password required pam_unix.so obscure yescrypt\n',
  'common-session': 'session required pam_unix.so\n',
  'common-session-noninteractive': 'session required pam_unix.so\n',
};

/**
 * Configures the packages whose scripts lie in the folders of `scripts`; all are unpacked in
 * `root`. `libraryPaths` says that a package names folders of libraries of its own.
 */
export async function configurePackages(root: string, scripts: string, libraryPaths: boolean): Promise<void> {
  const setups = readdirSync(scripts).map((name) => readSetup(join(scripts, name, 'postinst')));
  for (const copy of [...COPIES, ...setups.flatMap(({ copies }) => copies)]) copyInside(root, copy);
  for (const { target, path } of setups.flatMap(({ links }) => links)) linkInside(root, target, path);
  for (const words of setups.flatMap(({ alternatives }) => alternatives)) await installAlternative(root, words);
  for (const [name, text] of Object.entries(PAM_FILES)) {
    const path = join(root, 'etc/pam.d', name);
    if (existsSync(dirname(path)) && !existsSync(path)) writeFileSync(path, text);
  }
  await makeAccounts(
    root,
    setups.flatMap(({ accounts }) => accounts),
  );
  writeStartScript(
    root,
    setups.flatMap(({ owners }) => owners),
    libraryPaths,
  );
}

function readSetup(path: string): PackageSetup {
  return readPackageSetup(existsSync(path) ? readFileSync(path, 'utf8') : '');
}

/** Copies a file or folder that is there to a place where nothing is. */
function copyInside(root: string, { from, to }: PackageSetup['copies'][number]): void {
  const source = join(root, from);
  if (!existsSync(source)) return;
  const named = join(root, to);
  const target = existsSync(named) && lstatSync(named).isDirectory() ? join(named, basename(from)) : named;
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true, verbatimSymlinks: true });
}

function linkInside(root: string, target: string, path: string): void {
  const place = join(root, path);
  if (lstatSync(place, { throwIfNoEntry: false }) !== undefined || !existsSync(join(root, target))) return;
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(target, place);
}

/** update-alternatives leaves out links to files that are not there, such as manual pages. */
async function installAlternative(root: string, words: readonly string[]): Promise<void> {
  const [, , path = ''] = words.slice(words.indexOf('--install') + 1);
  if (!existsSync(join(root, path))) return;
  for (const folder of ['etc/alternatives', 'var/lib/dpkg/alternatives'])
    mkdirSync(join(root, folder), { recursive: true });
  const options = words.filter((word) => word !== '--quiet');
  await run('update-alternatives', ['--root', root, '--log', '/dev/null', '--quiet', ...options]);
}

/** Makes the accounts of scripts, and those that packages list for systemd. */
async function makeAccounts(root: string, lines: readonly string[]): Promise<void> {
  mkdirSync(dirname(join(root, ACCOUNTS)), { recursive: true });
  writeFileSync(join(root, ACCOUNTS), lines.map((line) => `${line}\n`).join(''));
  await run(...programOf(root, 'usr/bin/systemd-sysusers', [`--root=${root}`]));
  // It gives them no rights at all, so that only root could read them into an image.
  for (const name of SECRETS) if (existsSync(join(root, name))) chmodSync(join(root, name), 0o600);
}

function writeStartScript(root: string, owners: readonly OwnerChange[], libraryPaths: boolean): void {
  const lines = [
    '#!/bin/sh',
    '# SPDX-License-Identifier: Apache-2.0',
    '# Owners, modes and folders of the packages in this root: the image knows only root.',
    'systemd-tmpfiles --create --boot',
    ...joinCommands([...changesOf('chown', owners), ...changesOf('chmod', owners), ...foldersOf(root)], root),
    ...(libraryPaths ? ['ldconfig'] : []),
  ];
  mkdirSync(dirname(join(root, START_SCRIPT)), { recursive: true });
  writeFileSync(join(root, START_SCRIPT), `${lines.join('\n')}\n`);
}

/** A command and its options, and a path for it. */
type PathCommand = readonly [command: string, path: string];

/** The commands of that name. A new owner clears bits of the mode, so owners come first. */
function changesOf(command: OwnerChange['command'], changes: readonly OwnerChange[]): PathCommand[] {
  return changes
    .filter((change) => change.command === command)
    .flatMap(({ words }) => {
      const options = words.filter((word) => !word.startsWith('/'));
      const start = [command, ...options].join(' ');
      return words.filter((word) => word.startsWith('/')).map((path): PathCommand => [start, path]);
    });
}

/** Folders of services, which the guest makes in its memory. */
function foldersOf(root: string): PathCommand[] {
  const folder = join(root, SERVICES);
  const units = existsSync(folder) ? readdirSync(folder).filter((name) => /^[^@]+\.service$/.test(name)) : [];
  return units.flatMap((name) =>
    readServiceFolders(readFileSync(join(folder, name), 'utf8')).map(
      ({ path, mode, user, group }): PathCommand => [`install -d -m ${mode} -o ${user} -g ${group}`, path],
    ),
  );
}

/** One line for all paths of a command: a program takes long to start. */
function joinCommands(commands: readonly PathCommand[], root: string): string[] {
  const lines = new Map<string, Set<string>>();
  for (const [start, path] of commands) {
    if (!start.startsWith('install ') && !existsSync(join(root, path))) continue;
    const paths = lines.get(start) ?? new Set();
    lines.set(start, paths.add(path));
  }
  return [...lines].map(([start, paths]) => [start, ...paths].join(' '));
}
