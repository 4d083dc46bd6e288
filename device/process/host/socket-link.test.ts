// SPDX-License-Identifier: Apache-2.0
/** Links over real sockets of both kinds: restarts of either side, second and hostile peers. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { send } from '../../rig/fixtures/port-pair.ts';
import { counting, exchange, isActive, linkTo, Side, until } from '../../rig/live/link-side.ts';

const folder = mkdtempSync(join(tmpdir(), 'vuhca-link-'));
t.teardown(() => rmSync(folder, { recursive: true }));

t.test('packets pass over a UNIX socket and over TCP, more than fit any buffer', async (t) => {
  for (const kind of ['unix', '127.0.0.1', '::1']) {
    const endpoint = kind === 'unix' ? { path: join(folder, 'a.sock') } : { host: kind, port: 0 };
    const listener = new Side(1, 'listen', endpoint);
    await listener.socketLink.start();
    const there = kind === 'unix' ? endpoint : { host: kind, port: listener.socketLink.boundPort };
    const connector = await linkTo(listener, there);
    await exchange(listener, connector, 2000);
    await exchange(connector, listener, 2000);
    t.same(connector.arrivals.ids, counting(2000), kind);
    t.same(listener.arrivals.ids, counting(2000), kind);
    t.same([...listener.arrivals.errors, ...connector.arrivals.errors], [], kind);
    listener.socketLink.close();
    connector.socketLink.close();
  }
  t.notOk(existsSync(join(folder, 'a.sock')));
});

t.test('each end reads into one buffer, behind the greeting that the listening one waits for', async (t) => {
  for (const endpoint of [{ path: join(folder, 'reads.sock') }, { host: '127.0.0.1', port: 0 }]) {
    const listener = new Side(1, 'listen', endpoint);
    await listener.socketLink.start();
    const there = 'path' in endpoint ? endpoint : { ...endpoint, port: listener.socketLink.boundPort };
    const connector = new Side(2, 'connect', there);
    const buffersOf = ({ socketLink: { link } }: Side): Set<ArrayBufferLike> => {
      const buffers = new Set<ArrayBufferLike>();
      const receive = link.receive.bind(link);
      link.receive = (stream, chunk) => {
        buffers.add(chunk.buffer);
        receive(stream, chunk);
      };
      return buffers;
    };
    const [heard, told] = [listener, connector].map(buffersOf);
    await connector.socketLink.start();
    await until(isActive(listener, connector), 'a link', listener, connector);
    await exchange(connector, listener, 500);
    await exchange(listener, connector, 500);
    t.equal(heard.size, 2);
    t.equal(told.size, 1);
    for (const { socketLink } of [listener, connector]) socketLink.close();
  }
});

t.test('what the system does not take at once is neither changed nor forgotten', async (t) => {
  const lanes = 8;
  const [near, far] = ['near.sock', 'far.sock'].map((name) => ({ path: join(folder, name) }));
  const listener = new Side(1, 'listen', far, {}, lanes);
  await listener.socketLink.start();
  // Somebody in between stops reading; the lanes may have more under way than a socket holds.
  let reader: Socket | undefined;
  const between = createServer((socket) => {
    const onward = connect(far.path);
    reader = socket;
    socket.on('data', (bytes) => onward.write(bytes));
    onward.on('data', (bytes) => socket.write(bytes));
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ]) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  }).listen(near.path);
  const connector = new Side(2, 'connect', near, {}, lanes);
  await connector.socketLink.start();
  await until(isActive(listener, connector), 'a link', listener, connector);
  reader?.pause();
  let sent = 0;
  const { transmitQueues } = connector.port;
  // The queues are full once nothing leaves any longer.
  for (let waiting = -1; waiting !== transmitQueues.count; ) {
    waiting = transmitQueues.count;
    for (let burst = 0; burst < 64 * lanes; burst++) if (send(connector.port, sent, 4096, sent % lanes)) sent++;
    for (let round = 0; round < 20; round++) await until(() => true, 'a turn', connector);
  }
  t.ok(sent > 100, `${sent} packets`);
  reader?.resume();
  await until(() => listener.arrivals.ids.length >= sent, 'the packets', listener, connector);
  t.same(
    [...listener.arrivals.ids].sort((one, other) => one - other),
    counting(sent),
  );
  t.same(listener.arrivals.errors, []);
  listener.socketLink.close();
  connector.socketLink.close();
  between.close();
});

t.test('the link comes back when either side restarts', async (t) => {
  const endpoint = { path: join(folder, 'b.sock') };
  let connector = new Side(2, 'connect', endpoint);
  await connector.socketLink.start();
  await until(() => connector.socketLink.failedAttempts > 2, 'failed attempts', connector);
  let listener = new Side(1, 'listen', endpoint);
  await listener.socketLink.start();
  await until(isActive(listener, connector), 'a link although the listener was late', listener, connector);
  await exchange(connector, listener, 100);

  listener.socketLink.close();
  await until(() => connector.port.state === PortState.DOWN, 'the port going down', connector);
  send(connector.port, 0);
  t.ok(connector.port.transmitDiscards > 0, 'packets are lost meanwhile');
  listener = new Side(1, 'listen', endpoint);
  await listener.socketLink.start();
  await until(isActive(listener, connector), 'a link after the listener restarted', listener, connector);
  await exchange(connector, listener, 100);

  connector.socketLink.close();
  await until(() => listener.port.state === PortState.DOWN, 'the port going down', listener);
  connector = new Side(2, 'connect', endpoint);
  await connector.socketLink.start();
  await until(isActive(listener, connector), 'a link after the connector restarted', listener, connector);
  await exchange(listener, connector, 100);
  t.equal(listener.socketLink.link.connections, 2);
  listener.socketLink.close();
  connector.socketLink.close();
});

t.test('a second peer is refused and does not disturb the first', async (t) => {
  const endpoint = { path: join(folder, 'c.sock') };
  const listener = new Side(1, 'listen', endpoint);
  await listener.socketLink.start();
  const connector = await linkTo(listener, endpoint);
  const stranger = connect(endpoint.path);
  stranger.on('error', () => {});
  await until(() => stranger.destroyed || stranger.closed, 'the refusal', listener, connector);
  t.equal(listener.socketLink.refused, 1);
  t.match(listener.lines, [/a second peer was refused/]);
  await exchange(connector, listener, 50);
  listener.socketLink.close();
  connector.socketLink.close();
});

t.test('a peer that talks rubbish is thrown out, counted and logged; the next one is served', async (t) => {
  const endpoint = { path: join(folder, 'd.sock') };
  const listener = new Side(1, 'listen', endpoint);
  await listener.socketLink.start();
  const stranger = connect(endpoint.path);
  stranger.on('error', () => {});
  stranger.resume();
  stranger.write(Buffer.alloc(100_000, 0xff));
  await until(() => stranger.closed, 'the end', listener);
  t.equal(listener.socketLink.link.faults.get('oversized frame'), 1);
  t.match(listener.lines, [/link of port 1 at .*d\.sock: connection ended: oversized frame/]);
  const connector = await linkTo(listener, endpoint);
  listener.socketLink.close();
  connector.socketLink.close();
});

t.test('what is no socket is left alone', async (t) => {
  const file = join(folder, 'file');
  writeFileSync(file, 'kept');
  symlinkSync(file, join(folder, 'link-to-file'));
  mkdirSync(join(folder, 'sub'));
  for (const name of ['file', 'link-to-file', 'sub', 'none/x', 'file/x']) {
    const side = new Side(1, 'listen', { path: join(folder, name) });
    await t.rejects(side.socketLink.start(), { message: /cannot listen \(E\w+\): [a-z]/ }, name);
    side.socketLink.close();
  }
  t.equal(readFileSync(file, 'utf8'), 'kept');
  t.ok(lstatSync(join(folder, 'link-to-file')).isSymbolicLink());
});

t.test('a socket file left behind is taken over, one in use is not', async (t) => {
  const endpoint = { path: join(folder, 'e.sock') };
  const listener = new Side(1, 'listen', endpoint);
  await listener.socketLink.start();
  const other = new Side(2, 'listen', endpoint);
  await t.rejects(other.socketLink.start(), {
    message: /^the link of port 2 at .*e\.sock cannot listen \(EADDRINUSE\)/,
  });
  other.socketLink.close();
  listener.socketLink.close();
  // A process that is killed leaves its socket file.
  const script = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script, endpoint.path]);
  t.ok(existsSync(endpoint.path));
  const heir = new Side(1, 'listen', endpoint);
  await heir.socketLink.start();
  const connector = await linkTo(heir, endpoint);
  heir.socketLink.close();
  connector.socketLink.close();
});

/** Listens on loopback at a port that the system chooses. */
async function listenOnTcp(): Promise<{ listener: Side; endpoint: { host: string; port: number } }> {
  const listener = new Side(1, 'listen', { host: '127.0.0.1', port: 0 });
  await listener.socketLink.start();
  return { listener, endpoint: { host: '127.0.0.1', port: listener.socketLink.boundPort } };
}

/** A client that is no link. */
function visit(endpoint: { host: string; port: number }): Socket {
  const socket = connect(endpoint);
  socket.on('error', () => {});
  socket.resume();
  return socket;
}

t.test('peers that say nothing keep nobody out, and few of them wait', async (t) => {
  const { listener, endpoint } = await listenOnTcp();
  const silent = Array.from({ length: 20 }, () => visit(endpoint));
  const ended = () => silent.filter(({ closed }) => closed).length;
  await until(() => listener.socketLink.refused === 4 && ended() === 4, 'the oldest being refused', listener);
  t.match(listener.socketLink.trouble, /too many peers say nothing/);
  const connector = await linkTo(listener, endpoint);
  await exchange(connector, listener, 50);
  const late = silent.find(({ closed }) => !closed) as Socket;
  late.write('x');
  await until(() => late.closed, 'the refusal', listener, connector);
  t.ok(isActive(listener, connector)(), 'the link stays');
  for (const socket of silent) socket.destroy();
  listener.socketLink.close();
  connector.socketLink.close();
});

t.test('a storm of connections is refused, and the link is found behind it', async (t) => {
  const { listener, endpoint } = await listenOnTcp();
  const storm = Array.from({ length: 300 }, () => visit(endpoint));
  for (const socket of storm) socket.write(Buffer.alloc(100, 0xff));
  await until(() => storm.every(({ closed }) => closed), 'the end of the storm', listener);
  const { faults } = listener.socketLink.link;
  t.equal((faults.get('oversized frame') ?? 0) + listener.socketLink.refused, storm.length);
  const connector = await linkTo(listener, endpoint);
  listener.socketLink.close();
  connector.socketLink.close();
});

t.test('an end without a peer says why, until it has one', async (t) => {
  const { listener, endpoint } = await listenOnTcp();
  listener.socketLink.close();
  const connector = new Side(2, 'connect', endpoint);
  await connector.socketLink.start();
  await until(() => connector.socketLink.failedAttempts > 2, 'attempts', connector);
  t.match(connector.socketLink.trouble, /^cannot connect \(ECONNREFUSED\): nobody listens there; start the other end/);
  t.equal(connector.lines.length, 1, 'it is said once');
  const heir = new Side(1, 'listen', endpoint);
  await heir.socketLink.start();
  await until(isActive(heir, connector), 'a link', heir, connector);
  t.equal(connector.socketLink.trouble, undefined);
  heir.socketLink.close();
  await until(() => connector.port.state === PortState.DOWN, 'the port going down', connector);
  t.match(connector.socketLink.trouble, /^the peer has gone|^cannot connect/);
  connector.socketLink.link.cut();
  t.match(connector.socketLink.trouble, /^the cable is out/);
  connector.socketLink.close();
});

t.test('a peer that ends before it greets is named', async (t) => {
  const { listener, endpoint } = await listenOnTcp();
  const stranger = visit(endpoint);
  stranger.end(Buffer.alloc(1));
  await until(() => stranger.closed, 'the end', listener);
  t.match(listener.lines, [/link of port 1 at tcp:\/\/127.0.0.1:0: the peer ended the connection without a greeting/]);
  t.equal(listener.socketLink.address, `listen tcp://127.0.0.1:${endpoint.port}`);
  listener.socketLink.close();
});
