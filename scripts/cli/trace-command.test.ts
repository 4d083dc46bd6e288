// SPDX-License-Identifier: Apache-2.0
//
// Traces as a user sees them: the story of a message, word for word; exports that tshark and Perfetto take; and the command against a running adapter.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Adapter } from '../../device/adapter.ts';
import { Bench } from '../../device/conformance/bench.ts';
import { connect } from '../../device/conformance/connected-bench.ts';
import { TraceBench } from '../../device/conformance/trace-bench.ts';
import { type ChromeEvent, toChromeTrace, toErf, toJsonLines } from '../../device/main/trace-export.ts';
import { attachTimeline } from '../../device/observe/trace/attach-timeline.ts';
import { Step, TimelineRing, type TimelineStep } from '../../device/observe/trace/timeline.ts';
import type { TracedMessage } from '../../device/observe/trace/traced-message.ts';
import { findTshark } from '../setup/tshark.ts';
import { makeDirectory } from './testing/directory.ts';
import { CliProcess, runCli } from './testing/run-cli.ts';
import { renderMessage } from './trace-screen.ts';

const tshark = findTshark();

interface Traced {
  readonly messages: TracedMessage[];
  readonly steps: TimelineStep[];
  readonly qpns: readonly [number, number];
}

/** Two SENDs of an RC connection, of three packets and of one, traced at both ends. Time passes with every step noted. */
function traceConnection(): Traced {
  const bench = new Bench({ seed: 5 });
  const trace = new TraceBench(bench);
  const { a, b } = connect(bench, { pathMtu: 1, sendPsn: 100 });
  for (const { qpn } of [a, b]) trace.modify(qpn);
  const { clock } = bench.machine;
  const timeline = new TimelineRing(10, () => {
    clock.advance(100);
    return clock.now();
  });
  attachTimeline(bench.machine.core as Adapter, timeline);
  for (const length of [700, 60]) {
    b.postReceive([bench.sge(bench.createBuffer(length))]);
    b.parts.receiveCq.notify();
    a.post({ sges: [bench.sge(bench.createBuffer(new Uint8Array(length).fill(0xab)))] }, 'collect');
    bench.settle();
    a.parts.sendCq.drain();
    b.parts.receiveCq.drain();
  }
  attachTimeline(bench.machine.core as Adapter, undefined);
  const messages = [a, b].flatMap(({ qpn }) => trace.read(qpn).messages);
  return { messages, steps: timeline.read(0, 1000), qpns: [a.qpn, b.qpn] };
}

t.test('the story of one message from doorbell to completion, on both sides', async (t) => {
  const { messages, steps, qpns } = traceConnection();
  const [first] = messages;
  if (first === undefined) throw new Error('nothing was traced');
  const screen = renderMessage(first, messages, steps);
  const lines = screen.trimEnd().split('\n');
  t.ok(lines.length <= 24 && lines.every((line) => line.length <= 100), screen);
  const story = lines.filter((line) => line.includes(' us '));
  const places = [
    `QP ${qpns[0]}.*kick of VCB`,
    `QP ${qpns[0]}.*launch from lane`,
    `QP ${qpns[0]}.*command 0 launched`,
    `QP ${qpns[1]}.*first packet received`,
    `QP ${qpns[1]}.*message complete`,
    `QP ${qpns[1]}.*completion posted to CQ`,
    `QP ${qpns[0]}.*command complete`,
    `QP ${qpns[0]}.*completion posted to CQ`,
  ].map((pattern) => story.findIndex((line) => new RegExp(pattern).test(line)));
  t.notOk(places.includes(-1), screen);
  t.same(
    places,
    [...places].sort((x, y) => x - y),
    screen,
  );
  t.match(screen, /event posted to EQ/);
  t.match(screen, /interrupt of vector/);
  t.match(screen, /SEND number 0, 700 bytes in 3 packets, SUCCESS/i);
});

t.test('a Perfetto file of one RC message: times grow, every begin has its end', async (t) => {
  const { messages, steps } = traceConnection();
  const { traceEvents } = JSON.parse(JSON.stringify(toChromeTrace(messages, steps))) as { traceEvents: ChromeEvent[] };
  let last = 0;
  const open = new Set<string>();
  for (const { ph, ts, id = '', name, pid, tid } of traceEvents) {
    t.ok(['b', 'e', 'i', 'M'].includes(ph) && name !== '' && Number.isInteger(pid) && Number.isInteger(tid));
    if (ph === 'M') continue;
    t.ok(ts >= last, `${ts} behind ${last}`);
    last = ts;
    if (ph === 'b') {
      t.notOk(open.has(id));
      open.add(id);
    } else if (ph === 'e') t.ok(open.delete(id), `${id} ends without a begin`);
  }
  t.equal(open.size, 0);
  const begins = traceEvents.filter(({ ph }) => ph === 'b');
  t.equal(begins.length, 4);
  t.ok(
    begins.every(({ args }) => begins.some(({ id }) => id === args?.otherSide)),
    'both sides know each other',
  );
  t.equal(traceEvents.filter(({ ph }) => ph === 'i').length, steps.length);
  const kinds = new Set(steps.map(({ step }) => step));
  for (const step of [
    Step.BIND,
    Step.KICK,
    Step.LAUNCH,
    Step.RELEASE_EXECUTION,
    Step.SEND_COMPLETION,
    Step.EQE,
    Step.INTERRUPT,
  ])
    t.ok(kinds.has(step), `step ${step} was noted`);
  const lines = toJsonLines(messages, steps)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { timeNs: number });
  t.equal(lines.length, messages.length + steps.length);
  t.ok(lines.every(({ timeNs }, place) => place === 0 || timeNs >= (lines[place - 1]?.timeNs ?? 0)));
});

t.test('tshark opens the ERF capture', { skip: tshark === undefined && 'tshark is not installed' }, async (t) => {
  const { messages, qpns } = traceConnection();
  const path = join(makeDirectory(t), 'trace.erf.pcap');
  writeFileSync(path, toErf(messages, 1_700_000_000e9));
  const fields = ['infiniband.bth.opcode', 'infiniband.bth.psn', 'infiniband.bth.destqp', 'frame.len', '_ws.malformed'];
  const args = ['-r', path, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  const { stdout, status, stderr } = spawnSync(tshark as string, args, { encoding: 'utf8' });
  t.equal(status, 0, stderr);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  t.same(
    rows.map(([opcode, psn, destination]) => [opcode, psn, destination].map(Number)),
    [
      [0, 100, qpns[1]],
      [0, 100, qpns[1]],
      [4, 103, qpns[1]],
      [4, 103, qpns[1]],
    ],
  );
  t.ok(rows.every(([, , , , malformed]) => !malformed));
});

t.test('a running adapter: timeline on and off beside a recording; clear words for what is not there', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const recording = join(directory, 'x.rec');
  const device = new CliProcess(['device', '--socket', join(directory, 's.sock'), '--record', recording], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const trace = (...words: string[]) => runCli(['trace', ...words], environment);
  t.match((await trace('status')).stdout, /no QP is traced\nthe timeline is off/);
  t.match((await trace('on', '--timeline')).stdout, /the timeline has 0 steps/);
  t.match(await trace('on', '--qp', '77'), { status: 1, stderr: /there is no QP 77/ });
  t.match(await trace('show'), { status: 1, stderr: /no message is traced/ });
  t.match(await trace('on'), { status: 2, stderr: /say which QP/ });
  const file = join(directory, 'out.json');
  t.equal((await trace('export', '--format', 'perfetto', file)).status, 0);
  t.match(await trace('export', file), { status: 2, stderr: /--format is missing/ });
  t.match((await trace('off', '--timeline')).stdout, /the timeline is off/);
  device.child.kill('SIGTERM');
  await device.whenExited;
  t.match(
    await runCli(['replay', recording], environment),
    { status: 0, stdout: /identical/ },
    'the timeline is not in it',
  );
});
