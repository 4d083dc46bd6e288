// SPDX-License-Identifier: Apache-2.0
/**
 * The processes that replay a recording: any moment of a session of many steps, byte for byte
 * as a replay from the beginning shows it, in a small part of the time that this takes; bounded in
 * number and memory; and the reaction to a damaged file or the end of a process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { VIEW_NAMES } from '../../../device/hca/adapter/contents/view-names.ts';
import { CHUNK_HEADER_BYTES, decodeHeader } from '../../../device/hosts/recording-format.ts';
import { Random } from '../../../device/random.ts';
import { EventfulSession } from '../../../device/rig/fixtures/eventful-session.ts';
import { searchPart } from './recorded-search.ts';
import { RecordedSession } from './recorded-session.ts';
import { RecordingSource } from './recording-source.ts';
import { replayBounds } from './replay-requests.ts';
import type { FindQuery } from './view-protocol.ts';

const SEED = 5;
/** A million steps with VUHCA_LARGE. Some 21 are a turn. */
const LONG_STEPS = process.env.VUHCA_LARGE === undefined ? 250_000 : 1_000_000;
const LONG_TURNS = LONG_STEPS / 20;
const SHORT_TURNS = 1500;
const SEEKS = 25;
const SOAK_SEEKS = 100;
const MIB = 1024 * 1024;
const version = 'test';
const everything = { adapter: 'a', views: VIEW_NAMES };

const folder = mkdtempSync(join(tmpdir(), 'vuhca-recording-'));
t.teardown(() => rmSync(folder, { recursive: true }));

function record(name: string, turns: number): string {
  const path = join(folder, name);
  const fd = openSync(path, 'w');
  const live = new EventfulSession(SEED, (bytes) => void writeSync(fd, bytes));
  const { machine } = live.fixture;
  machine.onStep = () => {};
  for (let turn = 0; turn < turns; turn++) live.play();
  machine.recorder?.flush();
  closeSync(fd);
  return path;
}

/** The processes of a group by number, and whether each has ended without being waited for. */
function listGroup(group: number): { readonly pid: number; readonly isZombie: boolean }[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const words = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      return Number(words[2]) === group ? [{ pid: Number(name), isZombie: words[0] === 'Z' }] : [];
    } catch {
      // No process, or one that has just ended.
      return [];
    }
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((go) => setTimeout(go, 20));
}

/** Memory of a group; shared pages count once. */
function measureGroup(group: number): number {
  return listGroup(group).reduce((sum, { pid }) => {
    const rows = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return sum + 1024 * Number(/^Pss: +(\d+)/m.exec(rows)?.[1]);
  }, 0);
}

/** Compares states at random steps with those of one replay from the beginning. */
async function compareStates(t: Test, source: RecordingSource, path: string, seed: number, count: number) {
  const random = new Random(seed);
  const { steps = 0 } = await source.session();
  const wanted = Array.from({ length: count }, () => random.below(steps + 1));
  const shown = new Map<number, string>();
  const times: number[] = [];
  for (const step of [...wanted, 0, steps]) {
    const began = performance.now();
    shown.set(step, JSON.stringify(await source.state({ ...everything, step })));
    times.push(performance.now() - began);
  }
  const began = performance.now();
  const session = new RecordedSession(readFileSync(path));
  for (const step of [...shown.keys()].sort((one, other) => one - other)) {
    t.ok(session.advanceTo(step));
    const fresh = JSON.stringify(session.describe(everything));
    if (shown.get(step) !== fresh) t.equal(shown.get(step), fresh, `seed ${seed}, step ${step}`);
  }
  t.equal(session.trouble, undefined);
  return { times: times.sort((one, other) => one - other), wholeMs: performance.now() - began };
}

t.test('any moment of a long session', async (t) => {
  const path = record('long.rec', LONG_TURNS);
  const source = await RecordingSource.open(path, { version });
  t.teardown(() => source.close());
  const early = await source.state({ ...everything, step: 0 });
  t.equal(early.step, 0, 'the first states can be seen at once');
  t.ok(((await source.session()).reading ?? 1) < 1, 'the recording is still being read');
  await source.whenRead();
  const { steps = 0, reading, trouble } = await source.session();
  t.ok(steps >= LONG_STEPS, `${steps} steps`);
  t.same([reading, trouble], [undefined, undefined]);
  const { times, wholeMs } = await compareStates(t, source, path, SEED, SEEKS);
  const [middle, most] = [times[times.length >> 1], times.at(-1) as number];
  t.comment(`a replay takes ${wholeMs.toFixed(0)} ms, a seek ${middle.toFixed(0)} ms, at most ${most.toFixed(0)} ms`);
  // Times depend on the machine; the number of steps that a seek replays does not.
  const distances = source.kept.map((step, place) => (source.kept[place + 1] ?? steps) - step);
  t.comment(`${source.kept.length} states are kept, at most ${Math.max(...distances)} steps apart`);
  t.equal(source.kept[0], 0);
  t.ok(Math.max(...distances) < steps / 10, 'a seek replays a small part');
  const bytes = measureGroup(source.pid);
  t.comment(`${listGroup(source.pid).length} processes, ${Math.round(bytes / MIB)} MiB`);
  t.ok(bytes < 1.1 * replayBounds.memoryBytes);
});

t.test('conditions are found as one process finds them', async (t) => {
  const path = record('short.rec', SHORT_TURNS);
  const recording = readFileSync(path);
  const source = await RecordingSource.open(path, { version });
  t.teardown(() => source.close());
  // Also while the recording is being read.
  t.same(await source.find({ condition: 'qp 0 enters rts', from: 0 }), {}, 'there is no such QP');
  const { steps = 0 } = await source.session();
  const random = new Random(SEED);
  for (const condition of [
    'fault',
    'overflow not empty',
    'link down',
    'counter doorbellsSpilled > 5000',
    'interrupt',
  ]) {
    const from = random.below(steps);
    for (const backward of [false, true]) {
      const query: FindQuery = { condition, from, backward };
      const [first, end] = backward ? [0, from] : [from, steps];
      const search = { condition, from: first, to: end, backward };
      t.same(await source.find(query), searchPart(new RecordedSession(recording), search), JSON.stringify(query));
    }
  }
  t.same(await source.find({ condition: 'fault', from: steps }), {}, 'nothing is behind the end');
  t.same(await source.find({ condition: 'fault', from: 0, backward: true }), {}, 'nothing is before the begin');
  await t.test('a search tells how far it has come, and ends when it is aborted', async (t) => {
    await source.whenRead();
    const { length } = listGroup(source.pid);
    for (const backward of [false, true]) {
      const abort = new AbortController();
      const looked: number[] = [];
      const onLooked = (step: number): void => {
        looked.push(step);
        abort.abort();
      };
      const never = { condition: 'counter sweeps > 1000000', from: backward ? steps : 0, backward };
      await t.rejects(source.find(never, { onLooked, signal: abort.signal }), { message: 'the search was ended' });
      t.equal(looked.length, 1, 'an aborted search says nothing');
      t.ok(looked[0] > 0 && looked[0] <= steps);
      await t.rejects(source.find(never, { onLooked, signal: abort.signal }), { message: 'the search was ended' });
      await until(() => listGroup(source.pid).length <= length);
      t.match(await source.find({ condition: 'fault', from: 0 }), { step: Number }, 'the next one finds');
    }
  });
  await t.rejects(source.find({ condition: 'nonsense', from: 0 }), { message: /is not understood/ });
  await t.rejects(source.find({ condition: 'fault at b', from: 0 }), { message: 'there is no adapter b; there are a' });
});

t.test('less memory: checkpoints further apart, and the same states', async (t) => {
  const path = join(folder, 'long.rec');
  const memoryBytes = 260 * MIB;
  const source = await RecordingSource.open(path, { version, memoryBytes });
  t.teardown(() => source.close());
  await source.whenRead();
  const { length } = listGroup(source.pid);
  const bytes = measureGroup(source.pid);
  t.comment(`${length} processes, ${Math.round(bytes / MIB)} MiB`);
  t.ok(length > 2 && length < 40, `${length} processes`);
  t.ok(bytes < memoryBytes * 1.25);
  await compareStates(t, source, path, SEED + 1, 10);
});

t.test('many seeks leave no process and no descriptor behind', async (t) => {
  const path = join(folder, 'short.rec');
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const source = await RecordingSource.open(path, { version, apart: 3000 });
  await source.whenRead();
  const { steps = 0 } = await source.session();
  const processes = listGroup(source.pid).length;
  const opened = descriptors();
  const random = new Random(SEED);
  const seek = async (): Promise<void> => {
    const step = random.below(steps + 1);
    const state = await source.state({ step });
    if (state.step !== step) t.equal(state.step, step);
  };
  for (let turn = 0; turn < SOAK_SEEKS / 10; turn++) await Promise.all(Array.from({ length: 10 }, seek));
  // The last copies may still be ending.
  await until(() => listGroup(source.pid).length <= processes);
  t.equal(listGroup(source.pid).length, processes);
  t.notOk(listGroup(source.pid).some(({ isZombie }) => isZombie));
  t.ok(descriptors() <= opened, `${descriptors()} descriptors, ${opened} before`);
  const { pid } = source;
  await source.close();
  await source.close();
  await until(() => listGroup(pid).every(({ isZombie }) => isZombie));
  t.equal(descriptors(), before);
  await t.rejects(source.state({ step: 1 }), { message: /has ended/ });
});

t.test('a checkpoint that is gone is replaced by the one before it', async (t) => {
  const path = join(folder, 'short.rec');
  const source = await RecordingSource.open(path, { version, apart: 3000 });
  t.teardown(() => source.close());
  await source.whenRead();
  const others = listGroup(source.pid).filter(({ pid }) => pid !== source.pid);
  t.ok(others.length > 3);
  // The first checkpoint has the first state.
  const [, ...gone] = others.sort((one, other) => one.pid - other.pid);
  for (const { pid } of gone.filter((_, index) => index % 2 === 0)) process.kill(pid, 'SIGKILL');
  await compareStates(t, source, path, SEED, 10);
  t.equal((await source.session()).trouble, undefined);
});

t.test('states up to the end of a process that replays remain', async (t) => {
  const path = join(folder, 'long.rec');
  const source = await RecordingSource.open(path, { version });
  t.teardown(() => source.close());
  process.kill(source.pid, 'SIGKILL');
  await source.whenRead();
  const { steps = 0, trouble } = await source.session();
  t.match(trouble, /^the process that replays the recording has ended after step \d+$/);
  t.equal((await source.state({ step: steps })).step, steps);
  await t.rejects(source.state({ step: steps + 1 }), {
    message: `there is no step ${steps + 1}; the recording has ${steps}`,
  });
});

t.test('a recording that is damaged or cut', async (t) => {
  const whole = readFileSync(join(folder, 'short.rec'));
  const write = (name: string, bytes: Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };
  const cut = await RecordingSource.open(write('cut.rec', whole.subarray(0, whole.length - 5)), { version });
  await cut.whenRead();
  t.match((await cut.session()).trouble, /^the end of the recording is missing/);
  await cut.close();
  const wrong = Buffer.from(whole);
  wrong[whole.length >> 1] ^= 1;
  await t.rejects(RecordingSource.open(write('wrong.rec', wrong), { version }), {
    message: /wrong\.rec: .*has a wrong CRC/,
  });
  await t.rejects(RecordingSource.open(join(folder, 'none.rec'), { version }), { message: /none\.rec cannot be read/ });
  await t.rejects(RecordingSource.open(write('text.rec', Buffer.from('hello')), { version }), {
    message: /not a recording/,
  });
  const other = await RecordingSource.open(write('other.rec', changeOneByte(whole)), { version });
  await other.whenRead();
  const { steps = 0, trouble } = await other.session();
  t.match(trouble, /did something else|is damaged/);
  t.equal((await other.state({ step: steps })).step, steps, 'all before that can be seen');
  await other.close();
});

/** Changes a byte in the middle, and the CRC of its chunk. */
function changeOneByte(whole: Uint8Array): Uint8Array {
  const changed = Buffer.from(whole);
  let at = decodeHeader(changed).lengthBytes;
  while (at + changed.readUInt32LE(at + 4) < changed.length / 2)
    at += CHUNK_HEADER_BYTES + changed.readUInt32LE(at + 4);
  const payload = changed.subarray(at + CHUNK_HEADER_BYTES, at + CHUNK_HEADER_BYTES + changed.readUInt32LE(at + 4));
  payload[payload.length >> 1] ^= 0x40;
  changed.writeUInt32LE(crc32(payload), at + 8);
  return changed;
}

t.test('all processes end with the one that shows the recording', async (t) => {
  const program = `
    import { RecordingSource } from ${JSON.stringify(new URL('./recording-source.ts', import.meta.url).href)};
    const source = await RecordingSource.open(${JSON.stringify(join(folder, 'long.rec'))}, { version: '' });
    console.log(source.pid);
    await new Promise(() => setInterval(() => {}, 1000));`;
  const path = join(folder, 'viewer.mts');
  writeFileSync(path, program);
  const viewer = spawn(process.execPath, ['--import=#typescript', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(viewer.stdout, 'data');
  const group = Number(line);
  t.ok(listGroup(group).length > 0);
  viewer.kill('SIGKILL');
  await once(viewer, 'exit');
  await until(() => listGroup(group).every(({ isZombie }) => isZombie));
  t.pass('none is left');
});
