// SPDX-License-Identifier: Apache-2.0
/**
 * A cable that can be unplugged: `relay.ts FROM TO` carries bytes between clients that connect to
 * FROM and the listener at TO. On standard input, `cut` ends every connection and refuses new ones,
 * `join` accepts them again. Called by linked-process.ts.
 */
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined) throw new Error('usage: relay.ts FROM TO');
const sockets = new Set<Socket>();
let isCut = false;

function watch(socket: Socket, other: Socket): void {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('close', () => {
    sockets.delete(socket);
    other.destroy();
  });
  socket.pipe(other);
}

createServer((near) => {
  if (isCut) {
    near.destroy();
    return;
  }
  const far = connect(to);
  watch(near, far);
  watch(far, near);
}).listen(from, () => process.stdout.write('ready\n'));

createInterface({ input: process.stdin }).on('line', (line) => {
  isCut = line === 'cut';
  if (isCut) for (const socket of sockets) socket.destroy();
});
