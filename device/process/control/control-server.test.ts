// SPDX-License-Identifier: Apache-2.0
/**
 * The control socket: only its user can connect, answers keep the order, misbehaving clients are
 * dropped, and others are not disturbed.
 */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Refusal } from '../../hca/adapter/refusal.ts';
import { ControlClient } from './control-client.ts';
import { defaultControlPath, findControlPaths, findOnlyControlPath, provideControlDirectory } from './control-path.ts';
import { type ControlCommand, ControlServer } from './control-server.ts';

/** A folder with a short name: the path of a socket has at most 107 bytes. */
function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const DEAF = { failed: () => {}, threw: () => {} };

/** A server with a few commands, closed at the end of the test. */
function serve(
  t: Test,
  more: [string, ControlCommand][] = [],
  threw: [where: string, message: string][] = [],
): ControlServer {
  const path = join(makeDirectory(t), 'control');
  const commands = new Map<string, ControlCommand>([
    ['echo', ({ parameters }) => parameters],
    ['nothing', () => undefined],
    [
      'refuse',
      () => {
        throw new Refusal('not today');
      },
    ],
    ...more,
  ]);
  const server = new ControlServer(path, commands, {
    failed: (error) => t.fail(error.message),
    threw: (where, error) => threw.push([where, (error as Error).message]),
  });
  t.teardown(() => server.close());
  return server;
}

/** Sends raw bytes; returns the answers as text, and whether the server ended the connection. */
function connectRaw(path: string, bytes: string): { socket: Socket; text: () => string; closed: Promise<void> } {
  const socket = createConnection(path);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(bytes);
  return { socket, text: () => text, closed };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 5));
}

t.test('requests are answered', async (t) => {
  const server = serve(t);
  t.equal(statSync(server.path).mode & 0o777, 0o600, 'no other user may connect');
  const client = await ControlClient.connect(server.path);
  t.same(await client.request('echo', { a: 1 }), { a: 1 });
  t.equal(await client.request('nothing'), null);
  const many = await Promise.all(Array.from({ length: 300 }, (_, i) => client.request('echo', { i })));
  t.same(
    many,
    many.map((_, i) => ({ i })),
  );
  await t.rejects(client.request('refuse'), { message: 'the adapter refuses: not today' });
  await t.rejects(client.request('dance'), {
    message: /unknown command dance; the commands are echo, nothing, refuse/,
  });
  const pending = client.request('echo');
  server.close();
  await t.rejects(pending, { message: /has ended/ });
  await client.whenClosed;
  t.notOk(existsSync(server.path));
});

t.test('bad requests are answered with what is wrong', async (t) => {
  const server = serve(t);
  const lines = ['{', '[]', 'null', '{"version":2,"id":1,"command":"echo"}', '{"id":1,"command":"echo"}'];
  const more = ['{"version":1,"id":"x","command":"echo"}', '{"version":1,"id":1}'];
  const { socket, text } = connectRaw(server.path, `${[...lines, ...more].join('\n')}\n\n`);
  await until(() => text().split('\n').length > 7);
  const errors = text()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).error);
  t.match(errors, [
    'a request is one line of JSON',
    'a request is a JSON object',
    'a request is a JSON object',
    /speaks version 1 .* the request has 2$/,
    /the request has none$/,
    'the id of a request is a whole number',
    'the command of a request is a string',
  ]);
  socket.write('{"version":1,"id":5,"command":"echo","b":2}\n');
  await until(() => text().includes('"id":5'));
  t.equal(server.counters.errors, 7);
  socket.destroy();
});

t.test('clients that misbehave are dropped, others are not disturbed', async (t) => {
  const server = serve(t, [['much', () => 'x'.repeat(1 << 18)]]);
  const good = await ControlClient.connect(server.path);
  const endless = connectRaw(server.path, 'x'.repeat(1 << 17));
  await endless.closed;
  const deaf = createConnection(server.path);
  deaf.on('error', () => {});
  const closed = new Promise<void>((resolve) => deaf.once('close', () => resolve()));
  deaf.write('{"version":1,"id":1,"command":"much"}\n'.repeat(1000));
  await until(() => server.counters.dropped === 2);
  t.same(await good.request('echo', { still: true }), { still: true });
  deaf.resume();
  await closed;
  // One client dies after half a request, and one before its answer.
  connectRaw(server.path, '{"version":1,').socket.destroySoon();
  connectRaw(server.path, '{"version":1,"id":1,"command":"much"}\n').socket.destroySoon();
  t.same(await good.request('echo', { still: 1 }), { still: 1 });
  good.close();
});

t.test('one request per turn of the event loop', async (t) => {
  const turns: number[] = [];
  let turn = 0;
  const server = serve(t, [['note', () => turns.push(turn)]]);
  const { socket } = connectRaw(server.path, '{"version":1,"id":1,"command":"note"}\n'.repeat(50));
  const count = setInterval(() => {}, 1);
  const next = (): void => {
    turn++;
    if (turns.length < 50) setImmediate(next);
  };
  next();
  await until(() => turns.length === 50);
  clearInterval(count);
  t.equal(new Set(turns).size, 50);
  socket.destroy();
});

t.test('a path is taken over from the dead and left to the living', async (t) => {
  const server = serve(t);
  const make = (path: string) => () => new ControlServer(path, new Map(), DEAF);
  t.throws(make(server.path), { message: /is in use by a running server: stop it or choose another path/ });
  const directory = makeDirectory(t);
  writeFileSync(join(directory, 'plain'), 'a file');
  t.throws(make(join(directory, 'plain')), { message: /exists and is no socket/ });
  t.throws(make(join(directory, 'none', 'x')), { message: /does not exist: make it/ });
  t.throws(make(join(directory, 'x'.repeat(120))), { message: /at most 107 fit/ });
  const stale = await leaveStaleSocket(join(directory, 'stale'));
  const taken = make(stale)();
  t.teardown(() => taken.close());
  const client = await ControlClient.connect(stale);
  client.close();
});

t.test('running adapters are found by themselves', async (t) => {
  const environment = { XDG_RUNTIME_DIR: makeDirectory(t) };
  await t.rejects(findOnlyControlPath(environment), { message: /^no adapter is running: start one/ });
  const path = defaultControlPath(environment);
  t.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  const dead = await leaveStaleSocket(join(path, '../1.control'));
  const first = new ControlServer(path, new Map(), DEAF);
  t.teardown(() => first.close());
  t.equal(await findOnlyControlPath(environment), path);
  t.notOk(existsSync(dead), 'what the dead left is removed');
  const second = new ControlServer(join(path, '../2.control'), new Map(), DEAF);
  t.teardown(() => second.close());
  t.equal((await findControlPaths(environment)).length, 2);
  await t.rejects(findOnlyControlPath(environment), { message: /^2 adapters are running; name one by --control/ });
  const plain = join(path, '../3.control');
  writeFileSync(plain, '');
  await findControlPaths(environment);
  t.ok(existsSync(plain), 'what is no socket stays');
  t.throws(() => defaultControlPath({ XDG_RUNTIME_DIR: '/proc/self' }), { message: /cannot be made.*--control/ });
  const occupied = makeDirectory(t);
  writeFileSync(join(occupied, 'vuhca'), '');
  t.throws(() => defaultControlPath({ XDG_RUNTIME_DIR: occupied }), { message: /no folder of yours.*--control/ });
});

t.test('a client says that nobody listens, and removes what a killed adapter left', async (t) => {
  const directory = makeDirectory(t);
  const stale = await leaveStaleSocket(join(directory, '1.control'));
  await t.rejects(ControlClient.connect(stale), {
    message: /no adapter listens there any more, and what .* is removed/,
  });
  t.notOk(existsSync(stale));
  await t.rejects(ControlClient.connect(stale), { message: /no adapter listens there; start one with/ });
  const other = await leaveStaleSocket(join(directory, 'of-another-program'));
  await t.rejects(ControlClient.connect(other), { message: /no adapter listens there any more; start one/ });
  t.ok(existsSync(other), 'it may belong to another program');
});

t.test('a client too many is told so', async (t) => {
  const server = serve(t);
  const clients = await Promise.all(Array.from({ length: 16 }, () => ControlClient.connect(server.path)));
  await until(() => server.clientCount === 16);
  const message = /refuses: it has 16 clients, as many as it takes; end one of them/;
  const late = await ControlClient.connect(server.path);
  await t.rejects(late.request('echo'), { message });
  await late.whenClosed;
  await t.rejects(late.request('echo'), { message }, 'at once, too');
  clients[0].close();
  await until(() => server.clientCount === 15);
  const next = await ControlClient.connect(server.path);
  t.same(await next.request('echo', { a: 1 }), { a: 1 });
  for (const client of [next, ...clients]) client.close();
});

t.test('a command that fails is answered, and is told as a fault', async (t) => {
  const threw: [string, string][] = [];
  const broken = (): never => {
    throw new TypeError('planted');
  };
  const server = serve(t, [['broken', broken]], threw);
  const client = await ControlClient.connect(server.path);
  await t.rejects(client.request('refuse'), { message: /not today/ });
  t.same(threw, []);
  await t.rejects(client.request('broken'), { message: /planted/ });
  await until(() => threw.length > 0);
  t.same(threw, [['the command broken', 'planted']]);
  client.close();
});

t.test('the folder of control sockets, whatever the environment says', async (t) => {
  const directory = makeDirectory(t);
  const plain = join(directory, 'file');
  writeFileSync(plain, '');
  symlinkSync('circle', join(directory, 'circle'));
  const other = `/tmp/vuhca-${process.geteuid?.()}`;
  const useless = ['', '.', 'relative', '/none/x', plain, join(plain, 'x'), join(directory, 'circle'), 'x'.repeat(300)];
  for (const runtime of [undefined, ...useless, `/${'x'.repeat(300)}`]) {
    const environment = runtime === undefined ? {} : { XDG_RUNTIME_DIR: runtime };
    t.equal(provideControlDirectory(environment), other, `${runtime}`);
  }
  t.equal(provideControlDirectory({ XDG_RUNTIME_DIR: directory }), join(directory, 'vuhca'));
});

t.test('a command uses and removes nothing in a folder that is not private', async (t) => {
  const runtime = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: runtime };
  const elsewhere = join(runtime, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  const dead = await leaveStaleSocket(join(elsewhere, '1.control'));
  const folder = join(runtime, 'vuhca');
  symlinkSync(elsewhere, folder);
  await t.rejects(findControlPaths(environment), { message: /vuhca is no folder of yours: name .* by --control PATH/ });
  t.throws(() => defaultControlPath(environment), { message: /vuhca is no folder of yours/ });
  t.ok(existsSync(dead), 'nothing behind a link is removed');

  unlinkSync(folder);
  renameSync(elsewhere, folder);
  chmodSync(folder, 0o777);
  await t.rejects(findControlPaths(environment), { message: /vuhca is open to other users/ });
  chmodSync(folder, 0o700);
  writeFileSync(join(folder, 'kept.control'), 'no socket');
  symlinkSync(runtime, join(folder, 'link.control'));
  t.same(await findControlPaths(environment), []);
  t.notOk(existsSync(join(folder, '1.control')), 'the socket of a dead process is removed');
  for (const name of ['kept.control', 'link.control']) t.ok(lstatSync(join(folder, name)), `${name} stays`);
});

t.test('processes of one id in two PID namespaces have a control socket each', (t) => {
  const environment = { XDG_RUNTIME_DIR: makeDirectory(t) };
  t.not(defaultControlPath(environment), defaultControlPath(environment));
  t.end();
});

/** A socket file on which no process listens any more. */
async function leaveStaleSocket(path: string): Promise<string> {
  const other = `${path}.live`;
  const server = createServer();
  await new Promise<void>((done) => server.listen(other, done));
  linkSync(other, path);
  await new Promise((done) => server.close(done));
  if (existsSync(other)) unlinkSync(other);
  return path;
}
