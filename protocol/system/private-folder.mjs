// SPDX-License-Identifier: Apache-2.0
/**
 * Folders whose paths others can guess: in a folder that all users may write to, such as /tmp,
 * another user may have made the folder, or a link, first. Nothing is read, executed or removed in
 * such a place. Plain JavaScript, because some callers run before anything can translate
 * TypeScript: bootstrap.mjs, typescript.mjs, the cache of set-up, control sockets.
 */
import { chmodSync, lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

const WRITABLE_BY_ALL = 0o002;
const OPEN_TO_OTHERS = 0o077;
/** As many links as the kernel follows. */
const LINKS_MAX = 40;
const ROOT_USER = 0;

/**
 * The folder of everything that set-up makes and that later runs execute. The XDG base directory
 * specification gives its place, and says to ignore relative paths. It never depends on the folder
 * in which a command is called.
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {string}
 */
export function cacheFolder({ XDG_CACHE_HOME: cache = '', HOME: home = '' } = process.env) {
  if (isAbsolute(cache)) return join(cache, 'vuhca');
  return join(isAbsolute(home) ? home : homeOfUser(), '.cache', 'vuhca');
}

/**
 * @returns {string} as Debian says it for users without a home, when this one has none
 */
function homeOfUser() {
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : '/nonexistent';
  } catch {
    return '/nonexistent';
  }
}

/** The user of this process, whose folders are checked unless a test names another one. */
const USER = process.geteuid?.();

/**
 * The first part of `path` that lies in a folder which all users may write to and belongs to
 * neither this user nor root, links and their targets included; undefined when there is none. Its
 * owner may replace it at any time. Parts that do not exist belong to nobody.
 * @param {string} path
 * @param {number | undefined} [user]
 * @returns {string | undefined}
 */
export function findStrangersPart(path, user = USER) {
  return walk(resolve(path), user, LINKS_MAX);
}

/**
 * Reason why the folder at `path` is not private to this user, in a few words; undefined when it is
 * private or absent.
 * @param {string} path
 * @param {number | undefined} [user]
 * @returns {string | undefined}
 */
export function objectToFolder(path, user = USER) {
  const part = findStrangersPart(path, user);
  if (part !== undefined) return `${part} belongs to another user`;
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!status.isDirectory()) return `${path} is no folder of yours`;
  if (status.uid !== user) return `${path} is no folder of yours`;
  return (status.mode & OPEN_TO_OTHERS) === 0 ? undefined : `${path} is open to other users (chmod 700 closes it)`;
}

/**
 * Makes the folder when it is absent, and closes an existing folder of this user to others. Returns
 * the reason when that fails, in a few words; undefined when the folder is private.
 * @param {string} path
 * @param {number | undefined} [user]
 * @returns {string | undefined}
 */
export function providePrivateFolder(path, user = USER) {
  try {
    const part = findStrangersPart(path, user);
    if (part !== undefined) return `${part} belongs to another user`;
    makeFolder(path);
    const status = lstatSync(path);
    const isOpen = (status.mode & OPEN_TO_OTHERS) !== 0;
    if (isOpen && status.isDirectory() && status.uid === user) chmodSync(path, 0o700);
  } catch (error) {
    return `${path} cannot be made (${codeOf(error)})`;
  }
  return objectToFolder(path, user);
}

/**
 * Makes the folder and those above it, closed to others. Nothing happens when there is something at
 * `path`. `mkdirSync` with `recursive` does not return where the kernel lists a folder but denies
 * that it exists, as in /proc.
 * @param {string} path
 */
export function makeFolder(path) {
  if (isMade(path)) return;
  makeFolder(dirname(path));
  if (!isMade(path)) mkdirSync(path);
}

/**
 * @param {string} path
 * @returns {boolean} false when there is no folder to make it in
 */
function isMade(path) {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return true;
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * @param {string} path absolute
 * @param {number | undefined} user
 * @param {number} linksLeft
 * @returns {string | undefined}
 */
function walk(path, user, linksLeft) {
  const names = path.split('/').filter(Boolean);
  let folder = '/';
  let isShared = isWritableByAll(lstatSync(folder));
  for (const [i, name] of names.entries()) {
    const part = join(folder, name);
    const status = lookUp(part);
    if (status === undefined) return undefined;
    if (isShared && status.uid !== user && status.uid !== ROOT_USER) return part;
    if (status.isSymbolicLink()) {
      if (linksLeft === 0) return part;
      return walk(resolve(folder, readlinkSync(part), ...names.slice(i + 1)), user, linksLeft - 1);
    }
    isShared = isWritableByAll(status);
    folder = part;
  }
  return undefined;
}

/**
 * @param {string} path
 * @returns {import('node:fs').Stats | undefined} undefined when it is absent or cannot be seen
 */
function lookUp(path) {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/**
 * @param {unknown} error
 * @returns {string | undefined}
 */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}

/**
 * @param {import('node:fs').Stats} status
 * @returns {boolean}
 */
function isWritableByAll({ mode }) {
  return (mode & WRITABLE_BY_ALL) !== 0;
}
