// SPDX-License-Identifier: Apache-2.0
/**
 * Tells the living from the dead by a UNIX socket that a process listens on. The kernel ends the
 * listening with the process, whatever ends that, and a connection finds out from everywhere: from
 * another PID namespace, where a process number means nothing or another process, and from another
 * network namespace. It also needs no program that holds a lock. Called for control sockets and
 * for the folders of guests.
 */
import { createConnection } from 'node:net';

/**
 * State of the listener at `path`: `dead` when the socket has outlived its process, `unknown`
 * when there is no socket or this user must not ask.
 */
export function askListener(path: string): Promise<'living' | 'dead' | 'unknown'> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve('living');
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      // EAGAIN: its queue of connections is full, so a process listens.
      if (code === 'EAGAIN') resolve('living');
      else resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown');
    });
  });
}
