// SPDX-License-Identifier: Apache-2.0
/**
 * The connection to a node over a socket that outlives it, against an ssh server in this process:
 * commands, and a server that answers no more.
 */
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { makeKeys } from './cluster-keys.ts';
import { NodeShell } from './node-shell.ts';

const keys = makeKeys();
const readWaitedMs = () => 0;

/** Both ends of the socket of a port. */
async function connectPort(t: Test): Promise<[host: Socket, guest: Socket]> {
  const path = join(makeDirectory(t), 'port');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const guest = createConnection(path);
  const [host] = (await accepted) as [Socket];
  t.teardown(() => {
    host.destroy();
    guest.destroy();
    server.close();
  });
  return [host, guest];
}

/** Serves one connection at the guest's end, as `sshd -i` does; commands end with status 7. */
function serve(guest: Socket): ssh2.Server {
  const server = new ssh2.Server({ hostKeys: [keys.host.private] }, (client) => {
    client.on('authentication', (request) => request.accept());
    client.on('ready', () =>
      client.on('session', (accept) =>
        accept().on('exec', (take, _refuse, { command }) => {
          const channel = take();
          channel.write(`did ${command}`);
          channel.exit(7);
          channel.end();
        }),
      ),
    );
    client.on('error', () => {});
  });
  server.injectSocket(guest);
  return server;
}

async function run(shell: NodeShell, line: string): Promise<[said: string, status: number]> {
  const channel = await shell.execute({ line });
  let said = '';
  channel.on('data', (bytes: Buffer) => {
    said += bytes;
  });
  const [status] = await once(channel, 'close');
  return [said, status];
}

t.test('several commands at once', async (t) => {
  const [host, guest] = await connectPort(t);
  serve(guest);
  const shell = await NodeShell.connect(host, keys.user.private, { readWaitedMs, tell: () => {} });
  const results = await Promise.all(['a', 'b', 'c'].map((line) => run(shell, line)));
  t.same(results, [
    ['did a', 7],
    ['did b', 7],
    ['did c', 7],
  ]);
});

t.test('a server that answers no more is noticed', async (t) => {
  const [host, guest] = await connectPort(t);
  serve(guest);
  const told: boolean[] = [];
  const tell = (isSilent: boolean) => told.push(isSilent);
  const shell = await NodeShell.connect(host, keys.user.private, { periodMs: 20, readWaitedMs, tell });
  guest.pause();
  await shell.whenClosed;
  t.ok(told.at(-1), 'its silence is told first');
  t.equal(host.destroyed, false, 'the socket is there for the next connection');
});
