// SPDX-License-Identifier: Apache-2.0
/**
 * Traces as a user sees them: the story of a message, word for word; exports that tshark and
 * Perfetto accept; and the command against a running adapter.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { TimelineStep } from '../../../device/hca/function/timeline.ts';
import { TimelineRing } from '../../../device/hca/function/timeline-ring.ts';
import type { AdapterTrace } from '../../../device/hca/trace/adapter-trace.ts';
import type { TracedMessage } from '../../../device/hca/trace/traced-message.ts';
import { toChromeTrace } from '../../../device/process/trace/perfetto-export.ts';
import { toErf, toJsonLines } from '../../../device/process/trace/trace-export.ts';
import { portableCases, runPortableCase } from '../../../device/rig/conformance/portable-suite.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { connect, rdma, SendOpcode } from '../../../device/rig/fixtures/connected-fixture.ts';
import { TraceFixture } from '../../../device/rig/fixtures/trace-fixture.ts';
import { findTraceFault } from '../../../device/rig/live/chrome-trace.ts';
import { VfioUserAccess } from '../../../device/rig/live/vfio-user-access.ts';
import type { TraceAttributes } from '../../../protocol/layout/gen/trace-attributes.gen.ts';
import { findTshark } from '../../../qemu/setup/tshark.ts';
import { AdapterState } from '../test/adapter-state.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { renderMessage } from './trace-screen.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const tshark = findTshark();
/** Capture interfaces of ERF records. */
const [PORT_1_SENT, PORT_1_RECEIVED, PORT_2_SENT, PORT_2_RECEIVED] = [0, 1, 2, 3];

interface Traced {
  readonly messages: TracedMessage[];
  readonly steps: TimelineStep[];
  readonly qpns: readonly [number, number];
}

/** The traces of the only adapter of a fixture: its ports have LID 1 and 2. */
function traceOf(messages: readonly TracedMessage[], steps: readonly TimelineStep[], wallTimeNs = 0): AdapterTrace {
  return {
    name: 'adapter',
    ports: [1, 2].map((number) => ({ number, lid: number, lmc: 0 })),
    wallTimeNs,
    queuePairs: [...new Set(messages.flatMap(({ block }) => [block.qpn, block.remoteQpn]))].map((qp) => ({
      qp,
      functionNumber: 0,
      traced: messages.some(({ block }) => block.qpn === qp),
      overwritten: 0,
    })),
    messages,
    steps,
    stepsSinceNs: steps.length > 0 ? 0 : undefined,
  };
}

function render(message: TracedMessage, messages: readonly TracedMessage[], steps: readonly TimelineStep[]): string {
  const adapter = traceOf(messages, steps);
  return renderMessage({ adapter, message }, [adapter]);
}

/**
 * Two SENDs of an RC connection, of three packets and of one, traced at both ends. Time passes with
 * every noted step and every packet.
 */
function traceConnection(attributes: Partial<TraceAttributes> = {}): Traced {
  const fixture = new AdapterFixture({ seed: 5 });
  const trace = new TraceFixture(fixture);
  const { a, b } = connect(fixture, { pathMtu: 1, sendPsn: 100 });
  for (const { qpn } of [a, b]) trace.modify(qpn, attributes);
  const { clock } = fixture.machine;
  const timeline = new TimelineRing(10, () => {
    clock.advance(100);
    return clock.now();
  });
  const adapter = fixture.machine.device;
  adapter.attachTimeline(timeline);
  for (const port of adapter.ports) port.observer = () => clock.advance(50);
  for (const length of [700, 60]) {
    b.postReceive([fixture.sge(fixture.createBuffer(length))]);
    b.parts.receiveCq.notify();
    a.post({ sges: [fixture.sge(fixture.createBuffer(new Uint8Array(length).fill(0xab)))] }, 'collect');
    fixture.settle();
    a.parts.sendCq.drain();
    b.parts.receiveCq.drain();
  }
  adapter.attachTimeline(undefined);
  const messages = [a, b].flatMap(({ qpn }) => trace.read(qpn).messages);
  return { messages, steps: timeline.read(0, 1000), qpns: [a.qpn, b.qpn] };
}

t.test('the story of one message from doorbell to completion, on both sides', async (t) => {
  const { messages, steps, qpns } = traceConnection();
  const [first] = messages;
  if (first === undefined) throw new Error('nothing was traced');
  const screen = render(first, messages, steps);
  const lines = screen.trimEnd().split('\n');
  t.ok(lines.length <= 30 && lines.every((line) => line.length <= 100), screen);
  const story = lines.filter((line) => / us +QP/.test(line)).map((line) => line.replace(/^ *[\d.]+ us +/, ''));
  const [from, to] = [`QP ${qpns[0]} sends +`, `QP ${qpns[1]} receives +`];
  const patterns = [
    `${from}first store to VCB \\d+, which gets PCB \\d+`,
    `${from}command 0 is whole in VCB \\d+`,
    `${from}command 0 launched from lane \\d+`,
    `${from}SEND, signaled`,
    `${from}SGE: 700 bytes at 0x[0-9a-f]+, L_Key 0x[0-9a-f]+`,
    `${from}packet sent: RC_SEND_FIRST, PSN 100, 256 bytes`,
    `${from}packet sent: RC_SEND_MIDDLE, PSN 101, 256 bytes`,
    `${from}packet sent: RC_SEND_LAST, PSN 102, 188 bytes`,
    `${to}receive WQE 0 taken`,
    `${to}SGE: 700 bytes at 0x[0-9a-f]+, L_Key 0x[0-9a-f]+`,
    `${to}packet received: RC_SEND_FIRST, PSN 100, 256 bytes`,
    `${to}packet received: RC_SEND_MIDDLE, PSN 101, 256 bytes`,
    `${to}packet received: RC_SEND_LAST, PSN 102, 188 bytes`,
    `${to}message complete`,
    `${to}completion written to CQ \\d+`,
    `${to}event of CQ \\d+ written to EQ \\d+`,
    `${to}ACK up to PSN 102 sent`,
    `${from}ACK up to PSN 102 received`,
    `${from}command complete: acknowledged`,
    `${from}completion written to CQ \\d+`,
    `${from}no event: CQ \\d+ is not armed`,
    `${to}interrupt: MSI-X vector 5`,
  ];
  t.equal(story.length, patterns.length, screen);
  for (const [place, pattern] of patterns.entries()) t.match(story[place], new RegExp(`^${pattern}`), screen);
  t.match(screen, /^sent by QP \d+: SEND number 0, 700 bytes in 3 packets, SUCCESS\n/);
  t.match(screen, /\nreceived by QP \d+: SEND number 0, 700 bytes in 3 packets, SUCCESS\n/);
  t.match(screen, /\d us from the first of these to the end on QP \d+\n$/);
});

t.test('the story of a READ: its answer goes the other way', async (t) => {
  const fixture = new AdapterFixture({ seed: 6 });
  const trace = new TraceFixture(fixture);
  const { a, b, region } = connect(fixture, { pathMtu: 1 });
  for (const { qpn } of [a, b]) trace.modify(qpn);
  const [local, remote] = [fixture.createBuffer(300), fixture.createBuffer(300)];
  a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
  fixture.settle();
  const messages = [a, b].flatMap(({ qpn }) => trace.read(qpn).messages);
  const [asked, answered] = messages as [TracedMessage, TracedMessage];
  const lines = render(asked, messages, []).split('\n');
  const told = (qpn: number, what: string) =>
    lines.filter((line) => new RegExp(`QP ${qpn} .*${what}`).test(line)).length;
  t.same(
    [told(a.qpn, 'packet sent: RC_RDMA_READ_REQUEST'), told(b.qpn, 'packet received: RC_RDMA_READ_REQUEST')],
    [1, 1],
  );
  t.same(
    [told(b.qpn, 'packet sent: RC_RDMA_READ_RESPONSE_'), told(a.qpn, 'packet received: RC_RDMA_READ_RESPONSE_')],
    [2, 2],
  );
  t.equal(told(a.qpn, 'command complete: all of the answer is in memory'), 1);
  if (tshark === undefined) return;
  for (const [message, interfaces] of [
    [asked, [PORT_1_SENT, PORT_1_RECEIVED, PORT_1_RECEIVED]],
    [answered, [PORT_2_RECEIVED, PORT_2_SENT, PORT_2_SENT]],
  ] as const)
    t.same(
      readWithTshark(t, toErf([traceOf([message], [])])).map(({ tap }) => tap),
      interfaces,
    );
});

t.test('the story says what is missing in it, and how to have it', async (t) => {
  const { messages, qpns } = traceConnection();
  const [first] = messages as [TracedMessage];
  const screen = render(first, [first], []);
  t.match(screen, new RegExp(`the other side is not traced: .*--qp ${qpns[1]}`));
  t.match(screen, /`vuhca trace on --timeline` adds them/);
  t.match(screen, /command 0 launched\n/);
  t.notMatch(render(first, messages, []), /the other side is not traced/);
});

t.test('a Perfetto file of one RC message: its packets, both sides, every step', async (t) => {
  const { messages, steps, qpns } = traceConnection();
  const document = toChromeTrace([traceOf(messages, steps, 1_700_000_000e9)]);
  t.equal(findTraceFault(document), undefined);
  const { traceEvents } = document;
  const begins = traceEvents.filter(({ ph }) => ph === 'b');
  t.equal(begins.length, 4);
  t.ok(
    begins.every(({ args }) => begins.some(({ id }) => id === args?.otherSide)),
    'both sides know each other',
  );
  const flows = (phase: string) =>
    traceEvents.filter(({ ph }) => ph === phase).map(({ id, pid, tid }) => ({ id, pid, tid }));
  const ids = ['adapter.2.0', 'adapter.2.1'];
  t.same(
    flows('s'),
    ids.map((id) => ({ id, pid: qpns[0], tid: 0 })),
  );
  t.same(
    flows('f'),
    ids.map((id) => ({ id, pid: qpns[1], tid: 1 })),
    'joined by a flow',
  );
  t.same(
    begins.map(({ args }) => args?.message),
    [ids[0], ids[0], ids[1], ids[1]],
    'one id on both sides',
  );
  t.equal(begins[0]?.args?.wallTime, '2023-11-14T22:13:20.000000600Z');
  const names = traceEvents.filter(({ ph }) => ph === 'M').map(({ name, args }) => `${name}: ${args?.name}`);
  t.same(names, [
    'process_name: adapter',
    'thread_name: function 0',
    ...qpns.flatMap((qpn) => [`process_name: QP ${qpn}`, 'thread_name: sends', 'thread_name: receives']),
  ]);
  for (const [qpn, tid] of [
    [qpns[0], 0],
    [qpns[1], 1],
  ])
    t.same(
      traceEvents.filter(({ ph, pid, tid: of }) => ph === 'i' && pid === qpn && of === tid).map(({ name }) => name),
      ['RC_SEND_FIRST', 'RC_SEND_MIDDLE', 'RC_SEND_LAST', 'RC_SEND_ONLY'],
    );
  t.equal(traceEvents.filter(({ ph, pid }) => ph === 'i' && pid === 0).length, steps.length);
  const lines = toJsonLines([traceOf(messages, steps)])
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { timeNs: number });
  t.equal(lines.length, messages.length + steps.length);
  t.ok(lines.every(({ timeNs }, place) => place === 0 || timeNs >= (lines[place - 1]?.timeNs ?? 0)));
});

const noTshark = tshark === undefined && 'tshark is not installed';

t.test('tshark opens the ERF capture: all packets of each message, none malformed', { skip: noTshark }, async (t) => {
  const { messages, qpns } = traceConnection();
  const one = [
    [0, 100],
    [1, 101],
    [2, 102],
  ];
  for (const [name, chosen, expected] of [
    ['one side of one message: FIRST, MIDDLE, LAST', messages.slice(0, 1), one],
    ['both sides of both', messages, [...one, [4, 103]].flatMap((packet) => [packet, packet])],
  ] as const) {
    const rows = readWithTshark(t, toErf([traceOf(chosen, [], 1_700_000_000e9)]));
    const packets = rows.map(({ opcode, psn }) => [opcode, psn]);
    t.same(packets.sort(), expected, name);
    t.ok(rows.every(({ destination, malformed }) => destination === qpns[1] && !malformed));
    t.ok(
      rows.every(({ length, captured }) => length === captured),
      'whole',
    );
    const times = rows.map(({ time }) => time);
    t.same(times, [...times].sort(), 'in the order of time');
  }
});

t.test('what the snap length cut off is missing, and tshark knows it', { skip: noTshark }, async (t) => {
  const snapLength = 300;
  const { messages } = traceConnection({ snapLength });
  const rows = readWithTshark(t, toErf([traceOf(messages.slice(0, 1), [])]));
  t.equal(rows.length, 2, 'the third packet begins behind it');
  const [first, second] = rows as [CaptureRow, CaptureRow];
  t.equal(first.captured, first.length);
  t.equal(second.length, first.length);
  const crcs = 6;
  t.equal(second.captured, first.captured - crcs - (512 - snapLength));
});

/** A packet as tshark reads it. */
interface CaptureRow {
  readonly opcode: number;
  readonly psn: number;
  readonly destination: number;
  readonly time: string;
  /** Bytes on the wire, and in the file. */
  readonly length: number;
  readonly captured: number;
  /** Port and direction. */
  readonly tap: number;
  readonly malformed: boolean;
}

function readWithTshark(t: Test, capture: Uint8Array): CaptureRow[] {
  const path = join(makeDirectory(t), 'trace.erf.pcap');
  writeFileSync(path, capture);
  const fields = [
    ...['infiniband.bth.opcode', 'infiniband.bth.psn', 'infiniband.bth.destqp', 'frame.time_epoch'],
    ...['frame.len', 'frame.cap_len', 'erf.flags.cap', '_ws.malformed'],
  ];
  const args = ['-r', path, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  const { stdout, status, stderr } = spawnSync(tshark as string, args, { encoding: 'utf8' });
  t.equal(status, 0, stderr);
  return stdout
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const [opcode, psn, destination, time = '', length, captured, tap, malformed = ''] = line.split('\t');
      const numbers = { opcode: Number(opcode), psn: Number(psn), destination: Number(destination), tap: Number(tap) };
      return { ...numbers, time, length: Number(length), captured: Number(captured), malformed: malformed !== '' };
    });
}

t.test('a running adapter: timeline on and off beside a recording; clear words for what is not there', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const recording = join(directory, 'x.rec');
  const device = new CliProcess(['device', '--socket', join(directory, 's.sock'), '--record', recording], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const trace = (...words: string[]) => runWords(['trace', ...words], environment);
  t.match((await trace('status')).stdout, /no QP is traced\nthe timeline is off/);
  t.match((await trace('on', '--timeline')).stdout, /the timeline has 0 steps/);
  t.match(JSON.parse((await trace('status', '--json')).stdout), { traces: [], paused: false, timeline: { head: 0 } });
  t.match(await trace('on', '--qp', '77'), { status: 1, stderr: /there is no QP 77/ });
  t.match(await trace('show'), { status: 1, stderr: /no message is traced/ });
  t.match(await trace('on'), { status: 2, stderr: /say which QP/ });
  const file = join(directory, 'out.json');
  t.equal((await trace('export', '--format', 'perfetto', file)).status, 0);
  t.match(await trace('export', file), { status: 2, stderr: /--format is missing/ });
  t.match(await trace('export', '--format', 'json', '--json', file), { status: 2, stderr: /say --format json/ });
  t.match((await trace('off', '--timeline')).stdout, /the timeline is off/);
  device.child.kill('SIGTERM');
  await device.whenExited;
  t.match(
    await runWords(['replay', recording], environment),
    { status: 0, stdout: /identical/ },
    'the timeline is not in it',
  );
});

t.test('a guest: QPs to come, a pause, traces that outlive their QPs, --follow, and its recording', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const [socket, recording] = [join(directory, 's.sock'), join(directory, 'x.rec')];
  const device = new CliProcess(['device', '--socket', socket, '--record', recording], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const trace = (...words: string[]) => runWords(['trace', ...words], environment);
  t.match(
    (await trace('on', '--new', '--service', 'UD', '--timeline', '--bytes', '65536')).stdout,
    /to come are traced: UD\n/,
  );
  t.match(await trace('on', '--service', 'UD', '--qp', '2'), { status: 2, stderr: /belong to --new/ });
  t.match(await trace('on', '--new', '--bytes', '10'), { status: 1, stderr: /less than one command block/ });
  const follower = new CliProcess(['trace', 'read', '--follow'], environment);
  const access = new VfioUserAccess(socket);
  const [datagrams] = portableCases;
  if (datagrams === undefined) throw new Error('there is no case');
  runPortableCase(datagrams, access);
  const told = await follower.until(/^.*"kind":"message".*"side":"send".*$/m);
  t.match(JSON.parse(told[0]), { opcode: 'SEND', status: 'SUCCESS', adapter: String, wallTime: /^20\d\d-/ });
  await follower.until(/"step":"send completion"/);
  const { stdout: status } = await trace('pause');
  t.match(status, /^QP 2 of function 0: .*, 0 lost(, ended)?\n/);
  t.match(status, /all of this is paused/);
  const before = (await trace('read')).stdout;
  runPortableCase(datagrams, access);
  t.equal((await trace('read')).stdout, before, 'kept as it was');
  const story = (await trace('show')).stdout;
  t.match(story, /^sent by QP 2: SEND number \d+, .*SUCCESS\n/);
  t.match(story, /QP 3 receives +completion written to CQ/);
  const describing = JSON.parse((await trace('show', '--json')).stdout);
  t.match(describing, { wallTime: /^20\d\d-.*Z$/, ends: [{ side: 'send', status: 'SUCCESS' }, { side: 'receive' }] });
  const storyLines = story.split('\n').filter((line) => / us +QP/.test(line));
  t.same(
    describing.story.map(({ text }: { text: string }) => text),
    storyLines.map((line) => line.replace(/^ *[\d.]+ us +QP \d+ (sends|receives) +/, '')),
    'the same lines',
  );
  t.equal(describing.story[0].timeNs, 0);
  t.match(describing.remarks[0], /us from the first of these to the end/);
  t.match((await trace('resume')).stdout, /the timeline has \d+ steps\n$/);
  const state = await AdapterState.connect(findControlSocket(join(directory, 'vuhca')), { hasTimeline: true });
  runPortableCase(portableCases.find(({ name }) => name.startsWith('a failed send')) ?? datagrams, access);
  const lines = await state.describe();
  t.match(
    lines.join('\n'),
    /sent by QP \d+: SEND number 0, \d+ bytes in 0 packets, LOCAL_/,
    'the story of the failure',
  );
  t.match(lines.join('\n'), /\nQP \d+ of a .*: send WQE 0 ended with LOCAL_/, 'the queue pair that failed');
  t.notMatch((await state.describe()).join('\n'), /sent by|ended with/, 'once');
  state.close();
  access.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.equal(await follower.whenExited, 0, 'it ends with the adapter');
  const replayed = await runWords(['replay', '--show', '--qp', '2', recording], environment);
  t.match(replayed, { status: 0, stderr: /identical/, stdout: /^sent by QP 2: SEND number \d+, .*SUCCESS\n/ });
  const show = (...words: string[]) => runWords(['trace', 'show', recording, ...words], environment);
  const list = JSON.parse((await show('--messages', '--failed', '--json')).stdout);
  t.match(list, { messages: [{ side: 'send', status: /^LOCAL_/, tries: 1 }] });
  t.match(await show('--failed'), { status: 0, stdout: /^sent by QP \d+: SEND number 0, .* LOCAL_/ });
  t.match(await show('--retried'), { status: 1, stderr: /no message with packets that were sent again is traced/ });
  const picture = join(directory, 'x.svg');
  t.match(await show('--slowest', '1', '--ladder', picture), { status: 0, stdout: '' });
  t.match(readFileSync(picture, 'utf8'), /^<svg .*<\/svg>\n$/s);
  const sent = (await runWords(['replay', '--messages', recording], environment)).stdout.match(/"side":"send"/g);
  t.ok((sent?.length ?? 0) >= 2 * (before.match(/"side":"send"/g)?.length ?? 0), 'also those in the pause');
});

/** The only control socket in the directory. */
function findControlSocket(directory: string): string {
  const [name] = readdirSync(directory).filter((one) => one.endsWith('.control'));
  return join(directory, name ?? 'no control socket');
}
