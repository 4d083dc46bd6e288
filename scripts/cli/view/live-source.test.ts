// SPDX-License-Identifier: Apache-2.0
/**
 * A running process as a source, over a real control socket in front of three adapters in simulated
 * time: states, stories and acts, polls only while a page is open, and the end of the process.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlServer } from '../../../device/process/control/control-server.ts';
import { makeFabricCommands } from '../../../device/rig/live/served-fabric.ts';
import { ThreeKinds } from '../../../device/rig/mixed/three-kinds.ts';
import { SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { makeDirectory } from '../testing/directory.ts';
import { LiveSource, type SourceClock } from './live-source.ts';
import { STREAM_HZ, type ViewState } from './view-protocol.ts';

/** Time that passes only by waiting. */
class Clock implements SourceClock {
  now = 0;
  nowMs(): number {
    return this.now;
  }

  async wait(ms: number): Promise<void> {
    this.now += ms;
    await new Promise((done) => setImmediate(done));
  }
}

/** A process with adapters m, v and n at switch s, and a source that shows it. */
async function open(t: Test) {
  const fabric = new ThreeKinds();
  const { machine, built } = fabric;
  const commands = makeFabricCommands({ machine, built, adapterNames: ['m', 'v', 'n'], switchNames: ['s'] });
  const events = { failed: () => {}, threw: (where: string, error: unknown) => t.fail(where, { error }) };
  const server = new ControlServer(join(makeDirectory(t), 'c'), commands, events);
  t.teardown(() => server.close());
  const clock = new Clock();
  const source = await LiveSource.open(server.path, clock);
  t.teardown(() => source.close());
  return { fabric, server, clock, source };
}

const LANE = /"launches":/;

t.test('the session and states of each kind of adapter', async (t) => {
  const { source, server, fabric } = await open(t);
  t.match(await source.session(), {
    ...{ kind: 'live', title: server.path, mayAct: true },
    adapters: [{ name: 'v' }, { name: 'm', personality: 'mlx5' }, { name: 'n', personality: 'mthca' }],
  });
  const client = await ControlClient.connect(server.path);
  t.teardown(() => client.close());
  const all = await client.request('status');
  const { timeNs, ...subnet } = await client.request('fabric');
  const whole = await source.state({});
  t.equal(whole.timeNs, fabric.machine.clock.now());
  t.same(whole, { timeNs, fabric: subnet, links: all.links, switches: all.switches });
  const own = await source.state({ adapter: 'v', views: ['queues', 'lanes'] });
  const [{ sockets: _, ...report }] = all.adapters;
  t.same(JSON.parse(JSON.stringify(own.adapter)), report);
  t.equal(own.personality, undefined);
  t.same(own.views?.queues, (await client.request('show', { adapter: 'v', view: 'queues' })).rows);
  const stock = await source.state({ adapter: 'm', views: ['queues', 'vcbs'] });
  t.match(stock.personality, { name: 'm', personality: 'mlx5' });
  t.equal(stock.adapter, undefined);
  t.same(Object.keys(stock.views ?? {}), ['queues'], 'a device of a personality has no VCBs');
  t.match(JSON.stringify(stock), LANE);
  t.throws(() => source.subscribe({ adapter: 'x' }, () => {}), { status: 404, message: /there are v, m, n$/ });
  await t.rejects(source.state({ adapter: 's' }), { name: 'ViewRefusal', status: 404 }, 'a switch is no adapter');
  await t.rejects(source.state({ step: 1 }), { name: 'ViewRefusal', status: 400 });
  await t.rejects(source.find(), { name: 'ViewRefusal', status: 404 });
});

t.test('the way between two nodes, by the tables of the process', async (t) => {
  const { source } = await open(t);
  const { nodes } = (await source.state({})).fabric;
  const linked = nodes.filter(
    ({ type, ports }) => type === 'adapter' && ports.some(({ link }) => link?.peer !== undefined),
  );
  const [from, to] = linked.map(({ name }) => name);
  const route = await source.route({ from, to });
  t.equal(route.hops[0].node, from);
  t.equal(route.hops.at(-1)?.node, to);
  t.equal(route.fault, undefined);
  await t.rejects(source.route({ from, to: 'x' }), { status: 404, message: /no node x; there are / });
});

t.test('polls happen while somebody looks, ten times a second, for a small share of the device', async (t) => {
  const { source, server, clock } = await open(t);
  const before = server.counters.requests;
  await new Promise((done) => setImmediate(done));
  t.equal(server.counters.requests, before, 'nobody looks');
  const states: ViewState[][] = [[], [], []];
  const queries = [{ adapter: 'v', views: ['lanes'] }, { adapter: 'v', views: ['lanes'] }, {}];
  const ends = queries.map((query, index) => source.subscribe(query, (state) => void states[index]?.push(state)));
  const beganMs = clock.now;
  const [first, second, third] = states as [ViewState[], ViewState[], ViewState[]];
  while (first.length < 30) await new Promise((done) => setImmediate(done));
  for (const end of ends) end();
  const seconds = (clock.now - beganMs) / 1000;
  t.ok(first.length <= seconds * STREAM_HZ + 2, `${first.length} states in ${seconds} s`);
  t.ok(third.length >= first.length - 1);
  t.ok(
    first.every((state, index) => state === second[index]),
    'equal queries share their states',
  );
  t.equal(server.counters.requests - before, 3 * first.length, 'and their requests: fabric, status, lanes');
  const after = server.counters.requests;
  for (let turn = 0; turn < 50; turn++) await new Promise((done) => setImmediate(done));
  t.equal(server.counters.requests, after, 'nobody looks any more');
  const again = source.subscribe({}, (state) => void third.push(state));
  const count = third.length;
  while (third.length === count) await new Promise((done) => setImmediate(done));
  again();
});

t.test('a message of two adapters has both ends, and a lost packet its place', async (t) => {
  const { source, fabric, clock } = await open(t);
  const { m, v, machine } = fabric;
  const query = { adapter: 'v', qp: v.qp.qpn };
  t.same(await source.stories(query), {
    ...{ queuePairs: [], stories: [] },
    reason: `QP ${query.qp} is not traced: \`vuhca trace on --adapter v --qp ${query.qp} --timeline\` traces its next messages`,
  });
  for (const adapter of ['m', 'v']) {
    await source.act({ command: 'trace-on', parameters: { adapter, rule: {} } });
    await source.act({ command: 'timeline-on', parameters: { adapter } });
  }
  fabric.connectOwn();
  const post = (what: string): void => {
    m.qp.post({ opcode: SendOpcode.WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: v.rkey } });
    fabric.expectOne(what);
    machine.runUntilIdle();
  };
  post('the first WRITE');
  t.match(await source.stories(query), { stories: [] }, 'told from the traces of a second ago');
  clock.now += 1000;
  const { stories, queuePairs, reason } = await source.stories({ adapter: 'm', qp: m.qp.number });
  t.same({ queuePairs, reason }, { queuePairs: [m.qp.number], reason: undefined });
  t.match(stories, [
    {
      title: /^RDMA_WRITE number \d+, \d+ bytes: SUCCESS$/,
      outcome: 'completed',
      ends: [`m QP ${m.qp.number} sends`, `v QP ${v.qp.qpn} receives`],
      notes: [{ side: 0, text: 'ends: SUCCESS' }],
    },
  ]);
  const [{ packets, lines }] = stories;
  t.same(
    packets.map(({ from, end }) => [from, end]),
    [...Array(3).fill([0, 'arrives']), ...Array(packets.length - 3).fill([1, 'arrives'])],
  );
  t.match(lines[0], /^sent by m QP \d+: RDMA_WRITE number /);
  t.match(lines.at(-1), / us from the first of these to the end on QP \d+$/);
  t.ok(
    lines.some((line) => /^ *[\d.]+ us {2}v QP \d+ receives /.test(line)),
    'lines of the other end',
  );
  await source.act({ command: 'link', parameters: { port: 'v:1', words: ['set', 'drop=0.5', 'seed=3'] } });
  machine.runUntil(() => fabric.built.adapters.every(({ ports: [port] }) => port.active), 'active ports');
  post('a WRITE over a bad link');
  clock.now += 1000;
  const { stories: later } = await source.stories({ adapter: 'm', qp: m.qp.number });
  t.equal(later.length, 2, 'the newest is the last');
  const all = later.at(-1)?.packets ?? [];
  t.ok(
    all.some(({ end }) => end === 'lost' || end === 'dropped'),
    'seed 3: packets are lost',
  );
  t.ok(
    all.some(({ isAgain, end }) => isAgain && end === 'arrives'),
    'seed 3: and sent again',
  );
  await t.rejects(source.stories({ adapter: 'x', qp: 1 }), { name: 'ViewRefusal', status: 404 });
});

t.test('acts, and requests of the device that are refused', async (t) => {
  const { source, server } = await open(t);
  const line = (words: string): string => `vuhca ${words} --control=${server.path}`;
  t.same(await source.act({ command: 'link', parameters: { port: 'm:1', words: ['down'] } }), {
    ...{ line: line('link down m:1'), result: { text: 'the link of m:1 is down' } },
  });
  t.match(await source.act({ command: 'link', parameters: { port: 'x:1', words: ['up'] } }), {
    ...{ line: line('link up x:1'), error: /^the adapter refuses: no link is at port x:1; there are / },
  });
  t.match(await source.act({ command: 'resources', parameters: { adapter: 'm' } }), {
    error: /has the personality mlx5/,
  });
  t.match(await source.act({ command: 'set-resources', parameters: { adapter: 'v', words: ['adapter', 'lend=on'] } }), {
    result: { lendIdle: true },
  });
  await t.rejects(source.act({ command: 'status', parameters: {} }), { name: 'ViewRefusal', status: 400 });
});

t.test('the process ends', async (t) => {
  const { source, server } = await open(t);
  let told = 0;
  source.subscribe({}, () => told++);
  while (told === 0) await new Promise((done) => setImmediate(done));
  const waiting = source.state({ adapter: 'v' });
  server.close();
  await t.rejects(waiting, { status: 503, message: /has ended$/ });
  t.equal(await source.whenEnded, `the adapter at ${server.path} has ended`);
  const before = told;
  t.throws(() => source.subscribe({}, () => {}), { status: 503, message: /has ended$/ });
  await t.rejects(source.stories({ adapter: 'v', qp: 1 }), { name: 'ViewRefusal', status: 503 });
  t.match(await source.act({ command: 'trace-status', parameters: {} }), { error: /has ended$/ });
  t.equal(told, before);
  await source.close();
  await source.close();
  await t.rejects(LiveSource.open(server.path), { name: 'ControlError', message: /no adapter listens there/ });
});
