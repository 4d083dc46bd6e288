// SPDX-License-Identifier: Apache-2.0
/**
 * Reads what Debian's packages do when they are configured: alternatives, accounts, owners, links
 * and copies. A script is read and never run, because it would change this machine; so only
 * commands without conditions of their own and with plain words count, which most scripts have
 * (Debian Policy 6 and 9.2). Folders of services and of systemd's tmpfiles come from their files.
 * Called by package-configuration.ts.
 */

/** A file or folder that gets an owner or a mode, in words of chown and chmod. */
export interface OwnerChange {
  readonly command: 'chown' | 'chmod';
  readonly words: readonly string[];
}

/** What a package wants done to the root. All paths are absolute, as the guest sees them. */
export interface PackageSetup {
  /** Arguments of update-alternatives. */
  readonly alternatives: readonly (readonly string[])[];
  /** Lines of sysusers.d(5). */
  readonly accounts: readonly string[];
  readonly owners: readonly OwnerChange[];
  readonly links: readonly { readonly target: string; readonly path: string }[];
  readonly copies: readonly { readonly from: string; readonly to: string }[];
}

/** A folder that a service needs while it runs. */
export interface ServiceFolder {
  readonly path: string;
  /** Octal. */
  readonly mode: string;
  readonly user: string;
  readonly group: string;
}

/** Words before which, and separators behind which, a command begins. */
const OPENING = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', '(']);
const TOKEN = /#.*|"(?:[^"\\]|\\.)*"|'[^']*'|[;&|()]+|(?:\\.|[^\s;&|()"'#])(?:\\.|[^\s;&|()"'])*/g;
/** Words that a shell would take as they are, once their quotes are off. */
const PLAIN = /^[^$`*?[\]{}\\<>'"]*$/;
const PATH = /^\/[\w./:@%+,=~-]+$/;
const NAME = /^[a-z_][a-z0-9_-]*$/;
/** Options of adduser, addgroup, useradd and groupadd that a word follows. */
const WITH_VALUE = new Set([
  ...['--home', '--shell', '--gecos', '--comment', '--uid', '--gid', '--ingroup', '--firstuid', '--lastuid'],
  ...['--home-dir', '--conf', '--groups', '-d', '-s', '-c', '-u', '-g', '-G'],
]);

/** The commands of a script, each as its words; without those that only a shell understands. */
export function readCommands(script: string): string[][] {
  const variables = new Map<string, string>();
  return script
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .flatMap((line) => readLine(line, variables));
}

/** What a script such as `postinst` wants done. */
export function readPackageSetup(script: string): PackageSetup {
  const commands = readCommands(script);
  const of = (...names: string[]): string[][] => commands.filter(([name = '']) => names.includes(name));
  return {
    alternatives: of('update-alternatives').flatMap(([, ...words]) => (words.includes('--install') ? [words] : [])),
    accounts: of('adduser', 'addgroup', 'useradd', 'groupadd').flatMap(readAccount),
    owners: of('chown', 'chmod').flatMap(([command, ...words]) =>
      pathsOf(words).length >= 1 ? [{ command: command as OwnerChange['command'], words }] : [],
    ),
    links: of('ln').flatMap(([, ...words]) => {
      const [target, path, ...more] = pathsOf(words);
      return words.some((word) => /^-[fnv]*s[fnv]*$/.test(word)) && target && path && !more.length
        ? [{ target, path }]
        : [];
    }),
    copies: of('cp').flatMap(([, ...words]) => {
      const [from, to, ...more] = pathsOf(words);
      return from && to && more.length === 0 ? [{ from, to }] : [];
    }),
  };
}

/** The folders that systemd would make for a service before its start (systemd.exec(5)). */
export function readServiceFolders(unit: string): ServiceFolder[] {
  const read = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]?.trim();
  const user = read('User') ?? 'root';
  const group = read('Group') ?? user;
  const parents = { Runtime: '/run', State: '/var/lib', Cache: '/var/cache', Logs: '/var/log' };
  return Object.entries(parents).flatMap(([kind, parent]) => {
    const names = (read(`${kind}Directory`) ?? '').split(/\s+/).filter((name) => /^[\w./@-]+$/.test(name));
    const mode = read(`${kind}DirectoryMode`) ?? '0755';
    return names
      .filter((name) => !name.includes('..'))
      .map((name) => ({ path: `${parent}/${name}`, mode, user, group }));
  });
}

function readLine(line: string, variables: Map<string, string>): string[][] {
  const assignment = /^\s*([A-Za-z_]\w*)=(["']?)([\w./:@+-]*)\2\s*$/.exec(line);
  if (assignment !== null) variables.set(assignment[1] as string, assignment[3] as string);
  const commands: string[][] = [[]];
  for (const [token] of line.matchAll(TOKEN)) {
    if (token.startsWith('#')) break;
    const command = commands.at(-1) as string[];
    if (/^[;&|()]+$/.test(token)) commands.push([]);
    else if (!(command.length === 0 && OPENING.has(token))) command.push(readWord(token, variables));
  }
  return commands
    .filter((words) => words.length > 0)
    .map(withoutRedirections)
    .filter((words) => words.every((word) => PLAIN.test(word)));
}

/** A word without its quotes; variables of the script that have a plain value are filled in. */
function readWord(token: string, variables: ReadonlyMap<string, string>): string {
  const bare = /^(["'])(.*)\1$/.exec(token)?.[2] ?? token;
  return bare.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, long, short) => variables.get(long ?? short) ?? whole);
}

function withoutRedirections(words: readonly string[]): string[] {
  const end = words.findIndex((word) => /^\d*[<>]/.test(word));
  return end === -1 ? [...words] : words.slice(0, end);
}

function pathsOf(words: readonly string[]): string[] {
  return words.filter((word) => PATH.test(word) && !word.includes('/..'));
}

/** Lines of sysusers.d for an account of a system; none for others. */
function readAccount([command = '', ...words]: string[]): string[] {
  const options = new Map<string, string>();
  const names: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const [option = '', value] = (words[i] as string).split('=');
    if (!option.startsWith('-')) names.push(option);
    else options.set(option, value ?? (WITH_VALUE.has(option) ? (words[++i] ?? '') : ''));
  }
  const [name, second] = names;
  if (name === undefined || !names.every((one) => NAME.test(one))) return [];
  if (second !== undefined) return command === 'adduser' ? [`m ${name} ${second}`] : [];
  const get = (...keys: string[]): string | undefined => keys.map((key) => options.get(key)).find((value) => value);
  if (command === 'addgroup' || command === 'groupadd') return [`g ${name} ${get('--gid', '-g') ?? '-'}`];
  const group =
    get('--ingroup', '--gid', '-g') ?? (options.has('--group') || command === 'useradd' ? undefined : 'nogroup');
  const id = get('--uid', '-u') ?? '-';
  const home = get('--home', '--home-dir', '-d') ?? '-';
  return [`u ${name} ${group === undefined ? id : `${id}:${group}`} "" ${home} ${get('--shell', '-s') ?? '-'}`];
}
