// SPDX-License-Identifier: Apache-2.0
/**
 * Prepares a path for a server socket: removes the file of a dead server, and refuses a path that a
 * live server uses. libvfio-user itself reports bare errno numbers, and EADDRINUSE in both cases.
 */
import { accessSync, constants, lstatSync, statSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import koffi from 'koffi';
import { errnoText, VfioUserError } from './errors.ts';
import { closeFd, errno, lastErrno } from './native.ts';

/** Longest path: sockaddr_un holds 108 bytes with the final NUL. */
const MAX_PATH_BYTES = 107;

const AF_UNIX = 1;
const SOCK_STREAM_NONBLOCK_CLOEXEC = 1 | 0o4000 | 0o2000000;
const SOCKADDR_BYTES = 110;

const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const connect = libc.func('int connect(int fd, const uint8_t *address, uint32_t length)');

/**
 * Makes `path` free for a server to bind.
 * @throws {VfioUserError} if the path is too long, its directory is absent or not writable, a live
 *   server uses it, or it is no socket.
 */
export function claimSocketPath(path: string): void {
  const length = Buffer.byteLength(path);
  if (length === 0 || length > MAX_PATH_BYTES) {
    throw new VfioUserError(
      `socket path ${path} has ${length} bytes, at most ${MAX_PATH_BYTES} fit: use a shorter directory`,
    );
  }
  checkDirectory(path);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isSocket()) {
    throw new VfioUserError(`${path} exists and is no socket: remove it or choose another path`);
  }
  if (!isDead(path)) {
    throw new VfioUserError(`${path} is in use by a running server: stop it or choose another path`);
  }
  unlinkSync(path);
}

/** True if other users may enter the directory of `path`, and so may reach the socket. */
export function isDirectoryShared(path: string): boolean {
  return (statSync(dirname(path)).mode & 0o077) !== 0;
}

function checkDirectory(path: string): void {
  const directory = dirname(path);
  const status = statSync(directory, { throwIfNoEntry: false });
  if (status === undefined) {
    throw new VfioUserError(`directory ${directory} for socket ${path} does not exist: make it with \`mkdir -m 0700\``);
  }
  if (!status.isDirectory())
    throw new VfioUserError(`${directory} is not a directory: choose another path for socket ${path}`);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch {
    throw new VfioUserError(`directory ${directory} is not writable: choose one you own for socket ${path}`);
  }
}

/**
 * True if no process has the socket at `path` any longer. A socket that takes no connections, such
 * as one of datagrams, or to which this user may not connect, may be in use.
 */
function isDead(path: string): boolean {
  const fd = socket(AF_UNIX, SOCK_STREAM_NONBLOCK_CLOEXEC, 0) as number;
  if (fd < 0) throw new VfioUserError(`socket() failed: ${errnoText(lastErrno())}`);
  const address = new Uint8Array(SOCKADDR_BYTES);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(Buffer.from(path), 2);
  const result = connect(fd, address, SOCKADDR_BYTES) as number;
  const error = result === 0 ? 0 : lastErrno();
  closeFd(fd);
  return error === errno.ECONNREFUSED;
}
