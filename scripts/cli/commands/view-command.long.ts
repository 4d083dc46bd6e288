// SPDX-License-Identifier: Apache-2.0
/**
 * Pages of real processes: `vuhca device --view` and `vuhca view` beside it, the cost of both to
 * the device, and their ends. The fabric has 64 adapters on 12 switches.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isRunning } from '../session/running.ts';
import { ControlRelay } from '../testing/control-relay.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { DEVICE_SHARE, FULL_MS } from '../view/device-budget.ts';
import type { ViewState } from '../view/view-protocol.ts';

const PAGE = /^the page is at http:\/\/127\.0\.0\.1:(\d+)\/\?token=(\S+)$/m;
const ADAPTERS = 64;
/** States of the page that are paid for. */
const STATES = 20;
/** Time for ten states, if a page were open. */
const QUIET_MS = 2000;

/** Processor time of a process, in ticks of the system: user and system (proc(5), stat). */
function readTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

interface Page {
  readonly port: number;
  readonly token: string;
}

async function pageOf(process: CliProcess): Promise<Page> {
  const [, port, token = ''] = await process.until(PAGE);
  return { port: Number(port), token };
}

async function ask({ port, token }: Page, path: string): Promise<IncomingMessage> {
  const request = get({ host: '127.0.0.1', port, path, headers: { authorization: `Bearer ${token}` }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** A stream that is open, and the events of it so far. */
async function follow(page: Page, query: string): Promise<{ events: string[]; response: IncomingMessage }> {
  const response = await ask(page, `/api/stream?${query}`);
  const events: string[] = [];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (text + chunk).split('\n\n');
    text = parts.pop() ?? '';
    events.push(...parts);
  });
  return { events, response };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 20));
}

/**
 * Sends requests until nothing listens: a server still takes connections for a moment after its
 * last event.
 */
async function untilGone(page: Page): Promise<void> {
  for (;;) {
    const answer = await ask(page, '/').catch((reason: NodeJS.ErrnoException) => reason);
    if (!(answer instanceof Error)) answer.resume();
    else if (answer.code === 'ECONNREFUSED') return;
  }
}

/** A device process with a fat tree and a page. */
async function start(t: Test, ...words: readonly string[]) {
  const directory = makeDirectory(t);
  const topology = join(directory, 't.json');
  const names = Array.from({ length: ADAPTERS }, (_, number) => `n${number}`);
  const adapters = Object.fromEntries(names.map((name) => [name, { sockets: [join(directory, name)] }]));
  const generate = { 'fat-tree': { leaves: 8, spines: 4, adaptersPerLeaf: 8, trunks: 1 } };
  writeFileSync(topology, JSON.stringify({ adapters, generate }));
  const control = join(directory, 'control');
  const device = new CliProcess(['device', '--topology', topology, '--control', control, ...words]);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  return { device, control };
}

t.setTimeout(0);

t.test('a page of 64 adapters costs the device its share, and nothing when nobody looks', async (t) => {
  const { device, control } = await start(t);
  const relay = await ControlRelay.open(t, control, join(makeDirectory(t), 'relay'));
  const beganMs = performance.now();
  const view = new CliProcess(['view', '--no-open', '--control', relay.path]);
  t.teardown(() => view.child.kill('SIGKILL'));
  const page = await pageOf(view);
  const ticks = readTicks(device.child.pid ?? 0);
  const { events, response } = await follow(page, 'adapter=n3&views=completions,lanes,commands');
  await until(() => events.length >= STATES);
  const seconds = (performance.now() - beganMs) / 1000;
  t.comment(
    `${(events.length / seconds).toFixed(1)} states of ${events[0]?.length} characters a second, ` +
      `${((readTicks(device.child.pid ?? 0) - ticks) / seconds).toFixed(2)} % of a processor by the device`,
  );
  // This holds however slow or busy the machine is: before each poll the account has paid for the
  // earlier ones.
  for (const { atMs, spentMs } of relay.polls)
    if (spentMs > FULL_MS + DEVICE_SHARE * (atMs - beganMs)) t.fail(`${spentMs} ms spent within ${atMs - beganMs} ms`);
  t.ok(relay.polls.length >= STATES);
  const state = JSON.parse((events[0] ?? '').split('data: ')[1] ?? '') as ViewState;
  t.match(state, { adapter: { name: 'n3' }, views: { completions: [], lanes: [], commands: [] } });
  t.equal(state.fabric.nodes.length, ADAPTERS + 12);
  response.destroy();
  // The answer to the second request shows that the server has seen the end of the stream.
  for (let count = 0; count < 2; count++) for await (const _ of await ask(page, '/api/session'));
  const { length } = relay.polls;
  await new Promise((done) => setTimeout(done, QUIET_MS));
  t.equal(relay.polls.length, length, 'nobody looks any more');
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
});

t.test('ends: of the device, of the page, of a parent that is killed', async (t) => {
  const { device, control } = await start(t, '--view=read');
  const page = await pageOf(device);
  const session = await ask(page, '/api/session');
  let text = '';
  for await (const part of session) text += part;
  t.match(JSON.parse(text), { kind: 'live', title: control, mayAct: false });
  const own = new CliProcess(['view', '--no-open', '--control', control]);
  t.teardown(() => own.child.kill('SIGKILL'));
  const first = await follow(await pageOf(own), '');
  await until(() => first.events.length > 0);
  own.child.kill('SIGINT');
  t.equal(await own.whenExited, 0, 'Ctrl-C');
  await until(() => first.response.complete || first.response.destroyed);
  t.equal(first.events.at(-1), 'event: ended\ndata: vuhca view has ended');
  const other = new CliProcess(['view', '--no-open', '--control', control]);
  t.teardown(() => other.child.kill('SIGKILL'));
  const streams = [await follow(await pageOf(other), ''), await follow(page, '')];
  await until(() => streams.every(({ events }) => events.length > 0));
  device.child.kill('SIGKILL');
  t.equal(await other.whenExited, 0, 'the process has ended');
  t.equal(other.stderr, `the adapter at ${control} has ended\n`);
  await until(() => streams.every(({ response }) => response.complete || response.destroyed));
  const [last, ofChild] = streams.map(({ events }) => events.at(-1) ?? '');
  t.equal(last, `event: ended\ndata: the adapter at ${control} has ended`);
  t.match(ofChild, /^event: ended\ndata: .* has ended$/, 'by its parent, or by the socket, whichever is first');
  await untilGone(page);
  t.notOk(isRunning(device.child.pid ?? 0));
});

t.test('a recording, and files that are none', async (t) => {
  const directory = makeDirectory(t);
  const path = (name: string): string => join(directory, name);
  const device = new CliProcess(['device', '--socket', path('s'), '--control', path('c'), '--record', path('x.rec')]);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  const view = new CliProcess(['view', '--no-open', path('x.rec')]);
  t.teardown(() => view.child.kill('SIGKILL'));
  const page = await pageOf(view);
  const read = async (request: string): Promise<{ status: number | undefined; answer: unknown }> => {
    const response = await ask(page, request);
    let text = '';
    for await (const part of response) text += part;
    return { status: response.statusCode, answer: JSON.parse(text) };
  };
  t.match(await read('/api/session'), { answer: { kind: 'recording', title: path('x.rec'), mayAct: false } });
  t.match(await read('/api/state?step=0&adapter=a'), { answer: { step: 0, adapter: { name: 'a' } } });
  t.match(await read('/api/find?condition=fault'), { status: 200, answer: {} });
  t.match(await read('/api/stream'), { status: /^40/, answer: { error: String } }, 'a recording does not change');
  view.child.kill('SIGINT');
  t.equal(await view.whenExited, 0, view.stderr);
  writeFileSync(path('text'), 'no recording at all\n');
  writeFileSync(path('empty'), '');
  for (const name of ['text', 'empty', 'absent', '.']) {
    const refused = new CliProcess(['view', '--no-open', path(name)]);
    t.teardown(() => refused.child.kill('SIGKILL'));
    t.equal(await refused.whenExited, 1, name);
    t.match(refused, { stdout: '', stderr: /^vuhca view: \S.*\n$/ }, name);
  }
});
