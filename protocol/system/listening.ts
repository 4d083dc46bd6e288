// SPDX-License-Identifier: Apache-2.0
/**
 * Distinguishes live from dead processes by a UNIX socket on which each listens. The kernel ends
 * the listening with the process, however that ends, and a connection attempt shows it from
 * everywhere: from another PID namespace, where a process number names no process or another one,
 * and from another network namespace. No program needs to hold a lock. Called for control sockets
 * and for the folders of guests.
 */
import { createConnection } from 'node:net';

/**
 * State of the listener at `path`: `dead` when the socket has outlived its process, `unknown`
 * when there is no socket or this user may not connect.
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
