// SPDX-License-Identifier: Apache-2.0
/** The lines between a command and a supervisor: whole messages, in order, and nothing else. */
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { Dialog } from './dialog.ts';

/** Both ends of a connection. */
async function connect(t: Test): Promise<[near: Socket, far: Socket]> {
  const path = join(makeDirectory(t), 'socket');
  const server: Server = createServer().listen(path);
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const near = createConnection(path);
  const [far] = (await accepted) as [Socket];
  t.teardown(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return [near, far];
}

t.test('messages arrive whole, whatever pieces they come in', async (t) => {
  const [near, far] = await connect(t);
  const taken: object[] = [];
  const dialog = new Dialog(far, (message) => taken.push(message));
  near.write('{"a":1}\n{"b"');
  near.write(':"x\\u001b[31my"}\n');
  near.end();
  await dialog.whenClosed;
  t.same(taken, [{ a: 1 }, { b: 'xy' }], 'without sequences for terminals');
});

t.test('a side may keep what a user has typed', async (t) => {
  const [near, far] = await connect(t);
  const taken: object[] = [];
  const dialog = new Dialog(far, (message) => taken.push(message), JSON.parse);
  new Dialog(near, () => {}).send({ line: 'a\nb\u001b' });
  near.end();
  await dialog.whenClosed;
  t.same(taken, [{ line: 'a\nb\u001b' }]);
});

t.test('what is no message ends the connection', async (t) => {
  for (const line of ['x', '3', 'null', '"text"']) {
    const [near, far] = await connect(t);
    const taken: object[] = [];
    const dialog = new Dialog(far, (message) => taken.push(message));
    near.write(`${line}\n{"a":1}\n`);
    await dialog.whenClosed;
    t.same(taken, [], line);
  }
});

t.test('a reader that is held slows the writer, and loses nothing', async (t) => {
  const [near, far] = await connect(t);
  let count = 0;
  const reader = new Dialog(far, () => count++);
  reader.hold(true);
  const writer = new Dialog(near, () => {});
  const message = { out: 'x'.repeat(1 << 16) };
  let sent = 1;
  while (writer.send(message)) sent++;
  const drained = writer.whenDrained();
  reader.hold(false);
  await drained;
  writer.close();
  await reader.whenClosed;
  t.equal(count, sent);
  await writer.whenClosed;
  t.equal(writer.send(message), true, 'a peer that has gone takes all');
});
