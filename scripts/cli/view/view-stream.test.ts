// SPDX-License-Identifier: Apache-2.0
/**
 * Streams of the server of `vuhca view`: their events, slow readers, and bounds on the resources of
 * clients.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { stateAt } from './testing/false-source.ts';
import { ask, openStream, serve, until } from './testing/served-view.ts';
import { viewPaths } from './view-protocol.ts';
import { viewBounds } from './view-server.ts';
import { ViewRefusal } from './view-source.ts';

t.test('a stream has the states that differ, one in a second otherwise, and the end', async (t) => {
  const served = await serve(t);
  const { source, server } = served;
  const stream = await openStream(served, '?adapter=a&views=queues');
  t.same(source.asked, [{ adapter: 'a', views: ['queues'] }]);
  t.match(stream.text(), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Content-Type: text\/event-stream/);
  const node = { name: 'a', type: 'adapter', guid: '1', description: 'line\nbreak', ports: [] } as const;
  for (const state of [stateAt(0), stateAt(1e8), stateAt(2e8, [node]), stateAt(3e8, [node]), stateAt(1.2e9, [node])])
    source.tell(state);
  source.end('the adapter at /x has ended');
  await until(() => /has ended\n\n/.test(stream.text()));
  const events = stream
    .text()
    .split(/\r\n[0-9a-f]+\r\n/)
    .filter((part) => part.startsWith('event: '));
  const states = events.filter((event) => event.startsWith('event: state\n'));
  t.same(
    states.map((event) => JSON.parse(event.slice('event: state\ndata: '.length))),
    [stateAt(0), stateAt(2e8, [node]), stateAt(1.2e9, [node])],
  );
  t.equal(events.at(-1)?.trimEnd(), 'event: ended\ndata: the adapter at /x has ended');
  t.equal(source.listeners.size, 0);
  await server.close();
});

t.test('a slow reader asks for nothing until it has read', async (t) => {
  const served = await serve(t);
  const { source } = served;
  const stream = await openStream(served);
  stream.pause();
  const node = { name: 'x'.repeat(100_000), type: 'adapter', guid: '1', description: '', ports: [] } as const;
  let timeNs = 0;
  // The system buffers some megabytes; after that the stream has left its source.
  for (let told = 0; source.listeners.size > 0 && told < 1000; told++) {
    timeNs += 1e9;
    source.tell(stateAt(timeNs, [node]));
    await new Promise((done) => setImmediate(done));
  }
  t.equal(source.listeners.size, 0);
  const reader = await openStream(served);
  source.tell(stateAt(timeNs + 1e9));
  await until(() => reader.text().includes('event: state'));
  t.pass('another reader has its states meanwhile');
  reader.end();
  await until(() => source.listeners.size === 0);
  stream.resume();
  await until(() => source.listeners.size === 1);
  source.tell(stateAt(timeNs + 2e9, [{ ...node, name: 'afterwards' }]));
  await until(() => stream.text().includes('afterwards'));
  stream.end();
  await until(() => source.listeners.size === 0);
});

t.test('streams, requests and connections are bounded', async (t) => {
  const bounds = { ...viewBounds };
  t.teardown(() => void Object.assign(viewBounds, bounds));
  Object.assign(viewBounds, { streams: 2, underWay: 1, connections: 6 });
  const served = await serve(t);
  const { known, source } = served;
  const streams = [await openStream(served), await openStream(served)];
  t.match(await ask(served, viewPaths.stream, { headers: known }), { status: 503, text: /2 streams are open/ });
  streams[0]?.end();
  await until(() => source.listeners.size === 1);
  await openStream(served);
  source.refusal = new ViewRefusal('gone', 'the adapter at /x has ended');
  streams[1]?.end();
  await until(() => source.listeners.size === 1);
  t.match(await ask(served, viewPaths.stream, { headers: known }), { status: 503, text: /has ended/ });
  let go: (() => void) | undefined;
  source.state = () =>
    new Promise((resolve) => {
      go = () => resolve(stateAt(1));
    });
  const slow = ask(served, viewPaths.state, { headers: known });
  await until(() => go !== undefined);
  t.match(await ask(served, viewPaths.session, { headers: known }), { status: 503, text: /1 requests are under way/ });
  go?.();
  t.equal((await slow).status, 200);
  t.equal((await ask(served, viewPaths.session, { headers: known })).status, 200);
});

t.test('connections that ask for nothing', async (t) => {
  const bounds = { ...viewBounds };
  t.teardown(() => void Object.assign(viewBounds, bounds));
  Object.assign(viewBounds, { connections: 3 });
  const served = await serve(t);
  const idle = [1, 2, 3].map(() => connect(served.port, '127.0.0.1'));
  t.teardown(() => {
    for (const socket of idle) socket.destroy();
  });
  for (const socket of idle) await once(socket, 'connect');
  const more = connect(served.port, '127.0.0.1').on('error', () => {});
  await once(more, 'close');
  t.pass('one too many is closed');
  idle[0]?.destroy();
  // The server learns of that in its own time.
  const askAgain = async (): Promise<number> => (await ask(served, '/', { headers: served.known })).status;
  while ((await askAgain().catch(() => 0)) === 0);
  t.equal(await askAgain(), 200, 'there is room again');
});
