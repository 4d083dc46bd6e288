// SPDX-License-Identifier: Apache-2.0
/**
 * Listens on a UNIX socket that no other user can connect to. All servers of the product use this
 * function (scripts/cli/session/private-sockets.test.ts): `listen` creates the file, with the mode
 * that the process gives to new files.
 */
import type { ListenOptions, Server } from 'node:net';

const PRIVATE_UMASK = 0o177;

/** As `server.listen`; the file of a UNIX socket has mode 0600 from its first moment on. */
export function listenPrivately(server: Server, options: ListenOptions, listening?: () => void): void {
  const umask = process.umask(PRIVATE_UMASK);
  try {
    server.listen(options, listening);
  } finally {
    process.umask(umask);
  }
}
