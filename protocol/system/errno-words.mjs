// SPDX-License-Identifier: Apache-2.0
/**
 * Remedies for errors of the system, for users. Plain JavaScript, because bootstrap.mjs runs before
 * anything can translate TypeScript. Called wherever a path that a user has named fails.
 */

/** By code; `errno-words.test.ts` makes the system raise those that a user can provoke. */
const remedies = {
  EACCES: 'this user may not; change its mode, or choose another path',
  EADDRINUSE: 'another process listens there; stop it, or choose another path',
  EAGAIN: 'its reader does not take the data; let it read faster, or write to a file',
  EBUSY: 'another program uses it; end that, or choose another path',
  ECONNREFUSED: 'nobody listens there; start the adapter, or correct the path',
  EDQUOT: 'the quota of this user is used up; free some space, or choose another disk',
  EEXIST: 'something has that name already; choose another path',
  EFBIG: 'no file may become so long; raise `ulimit -f`, or set a limit',
  EINVAL: 'the system takes no such path; choose another one',
  EIO: 'the disk or the terminal has an error; choose another path',
  EISDIR: 'it is a folder; name a file in it',
  ELOOP: 'its links lead in a circle; correct them, or choose another path',
  EMFILE: 'this process has too many open files; raise `ulimit -n`',
  ENAMETOOLONG: 'the name is too long; choose a shorter one',
  ENFILE: 'the system has too many open files; end some programs',
  ENODEV: 'the device does not exist; choose another path',
  ENOENT: 'it does not exist, or its folder does not; correct the path, or make the folder',
  ENOEXEC: 'it is no program for this machine; choose another one',
  ENOMEM: 'there is not enough memory; end some programs',
  ENOSPC: 'the disk is full; free some space, or choose another one',
  ENOTEMPTY: 'the folder is not empty; choose another path',
  ENOTDIR: 'a part of the path is no folder; correct it',
  ENOTSOCK: 'it is no socket; correct the path',
  ENOTSUP: 'its file system cannot do that; choose another path',
  ENXIO: 'it is a socket or a device, or a FIFO that nobody reads; start the reader first, or name a file',
  EPERM: 'the system does not allow it; choose another path',
  EPIPE: 'its reader has gone; start it again, or write to a file',
  EROFS: 'the file system can only be read; choose a path on another one',
  ESTALE: 'the file server has lost it; mount it again, or choose another path',
  ETXTBSY: 'a program runs from it; end that, or choose another path',
  EXDEV: 'it is on another disk; choose a path on the same one',
};

/**
 * The code in parentheses and the remedy, to follow the failed action: `(ENOSPC): the disk is full;
 * ...`.
 * @param {unknown} error the error of the system, or its code
 * @returns {string}
 */
export function errnoWords(error) {
  const code = typeof error === 'string' ? error : codeOf(error);
  if (code === undefined) return `(${error instanceof Error ? error.message : String(error)})`;
  return Object.hasOwn(remedies, code)
    ? `(${code}): ${remedies[/** @type {keyof typeof remedies} */ (code)]}`
    : `(${code})`;
}

/**
 * The sentence for an unexpected error of the system; undefined for other errors.
 * @param {unknown} error
 * @returns {string | undefined}
 */
export function describeSystemError(error) {
  const { syscall, path, dest, address } = /** @type {Record<string, unknown>} */ (Object(error));
  if (typeof syscall !== 'string' || codeOf(error) === undefined) return undefined;
  const object = [path ?? address, dest].filter((one) => typeof one === 'string').join(' and ');
  return `${syscall}${object === '' ? '' : ` of ${object}`} fails ${errnoWords(error)}`;
}

/**
 * @param {unknown} error
 * @returns {string | undefined}
 */
function codeOf(error) {
  const code = Object(error).code;
  return typeof code === 'string' ? code : undefined;
}
