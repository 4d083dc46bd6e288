// SPDX-License-Identifier: Apache-2.0
/**
 * Recordings whose checksums are right and whose fields are wrong: a replay ends with a sentence
 * about the recording, or with a difference, and never with an exception of the adapter.
 */
import { crc32 } from 'node:zlib';
import t from 'tap';
import { Adapter } from '../hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../hca/adapter/options.ts';
import type { AdapterClock, HostPort, LinkPort, LinkStream } from '../host.ts';
import { defaultMthcaOptions } from '../personality/mthca/options.ts';
import { Random } from '../random.ts';
import { AdapterFixture } from '../rig/fixtures/adapter-fixture.ts';
import { RecordedFabric } from '../rig/machine/fabric-machine.ts';
import { InProcessMachine } from '../rig/machine/machine.ts';
import { defaultSwitchNode } from '../topology/fabric-plan.ts';
import { Recorder } from './recording.ts';
import {
  CHUNK_HEADER_BYTES,
  CHUNK_MAGIC,
  decodeHeader,
  encodeHeader,
  joinChunks,
  RecordingDamage,
  RecordKind,
} from './recording-format.ts';
import { Replay, type ReplayResult } from './replay.ts';

const SESSIONS = 60;
/** An adapter that is built soon. */
const SMALL = { vcbCount: 1, pcbCount: 2, pcbGuaranteed: [1, 1], schedulerBufferCount: 2, laneCount: 1 } as const;
/** Of a header without its plan. */
const HEADER_BYTES = 32;
/** Varints of it have no end. */
const ENDLESS = new Uint8Array(20).fill(0xff);
const build = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => new Adapter(options, clock, hosts);

/** The header and the records of what `run` makes with a recorder. */
function record(run: (record: (options: AdapterOptions, count: number) => Recorder) => void) {
  const pieces: Uint8Array[] = [];
  let recorder: Recorder | undefined;
  run((options, count) => {
    recorder = new Recorder(options, count, (bytes) => pieces.push(bytes.slice()));
    return recorder;
  });
  recorder?.flush();
  return split(Buffer.concat(pieces));
}

function split(bytes: Uint8Array) {
  const { lengthBytes } = decodeHeader(bytes);
  return { header: bytes.subarray(0, lengthBytes), records: joinChunks(bytes, lengthBytes).records };
}

/** A file with these records and right checksums. */
function join(header: Uint8Array, ...records: Uint8Array[]): Uint8Array {
  const payload = Buffer.concat(records);
  const chunk = Buffer.alloc(CHUNK_HEADER_BYTES);
  chunk.writeUInt32LE(CHUNK_MAGIC, 0);
  chunk.writeUInt32LE(payload.length, 4);
  chunk.writeUInt32LE(crc32(payload), 8);
  return Buffer.concat([header, chunk, payload]);
}

/** The result of a replay, or the sentence that refuses it. Other exceptions are faults. */
function replay(recording: Uint8Array): ReplayResult | string {
  try {
    return new Replay(recording, build).run();
  } catch (error) {
    if (error instanceof RecordingDamage) return error.message;
    throw error;
  }
}

const session = record((recorded) => new AdapterFixture({ seed: 9, record: recorded }).proveItWorks());
const linked = split(recordLink());
const construction = record((recorded) => new InProcessMachine({ adapter: SMALL, record: recorded }));

/** An adapter with a link to another process, which sends back what the link sends. */
function recordLink(): Uint8Array {
  const adapter = { name: 'a', options: { ...defaultAdapterOptions, ...SMALL } };
  const plan = { adapters: [adapter], switches: [], links: [], streams: [{ port: 'a:1' }], subnet: 'managed' } as const;
  const fabric = new RecordedFabric(plan);
  const { adapter: seam, clock } = fabric.machine;
  const [link] = seam.linkPorts as readonly LinkPort[];
  const echoes: Uint8Array[] = [];
  const stream: LinkStream = { write: (bytes) => echoes.push(bytes.slice()) % 4 > 0, close: () => {} };
  link.connect(stream);
  for (let step = 0; step < 200; step++) {
    for (const bytes of echoes.splice(0)) link.receive(stream, bytes);
    link.drained(stream);
    fabric.machine.step();
    clock.advance(1e6);
  }
  link.disconnect(stream);
  fabric.machine.runUntilIdle();
  return fabric.takeRecording();
}

t.test('records with any wrong byte', async (t) => {
  const ends = { damaged: 0, different: 0, equal: 0 };
  for (let seed = 1; seed <= SESSIONS; seed++) {
    const random = new Random(seed);
    const { header, records: whole } = seed % 2 === 0 ? session : linked;
    const records = whole.slice();
    for (let count = 1 + random.below(3); count > 0; count--) {
      // Many of the fields are small.
      records[random.below(records.length)] = random.below(2) === 0 ? random.below(30) : random.below(256);
    }
    try {
      const end = replay(join(header, records));
      if (typeof end === 'string') ends.damaged++;
      else if (end.divergence !== undefined || end.truncated) ends.different++;
      else ends.equal++;
      if (typeof end === 'string') t.match(end, /^The recording is damaged: [^\n]*\.$/, `seed ${seed}`);
    } catch (error) {
      t.fail(`seed ${seed}: ${(error as Error).stack}`);
    }
  }
  t.ok(ends.different > SESSIONS / 2, JSON.stringify(ends));
});

t.test('fields out of range, one by one', async (t) => {
  const largest = Number.MAX_SAFE_INTEGER;
  const pairs = [
    [0, 9],
    [9, 0],
    [2 ** 31, 4],
    [largest, largest],
  ] as const;
  for (const kind of [0, 25, 255, ...Object.values(RecordKind)])
    for (const [first, second] of pairs) {
      const record = [kind, ...encode(0), ...encode(first), ...encode(second), 0, 0, 0, 0, 0, 0];
      for (const more of [record, [...record, ...ENDLESS]])
        try {
          replay(join(construction.header, construction.records, Uint8Array.from(more)));
        } catch (error) {
          t.fail(`${kind} ${first} ${second}: ${(error as Error).stack}`);
        }
    }
  const end = (...bytes: number[]) => replay(join(construction.header, construction.records, Uint8Array.from(bytes)));
  t.match(
    end(RecordKind.READ_REGISTER, 0, 0, 3),
    /step \d+, read register, .*: its size is 3; it must be 1, 2, 4 or 8/,
  );
  t.match(end(RecordKind.WRITE_PIO, 0, 0, 16), /write pio, .*: its size is 16/);
  t.match(end(RecordKind.RESET, 0, 9), /reset, .*: there is no reset 9/);
  t.match(end(RecordKind.BUS_MASTER, 0, 2), /bus master, .*: it is 2; it must be 0 or 1/);
  t.match(end(RecordKind.RESET, 7, 0), /there is no function 7/);
  t.match(end(RecordKind.LINK_RECEIVE, 0, 0), /link receive, .*: there is no link 0/);
  t.match(end(RecordKind.MEMORY_MAPPED, 0, ...ENDLESS), /the number at byte \d+ of its records is too large/);
});

/** A varint. */
function encode(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...encode(Math.floor(value / 128))];
}

t.test('an adapter that throws is a difference', async (t) => {
  const recording = join(session.header, session.records);
  const failing = (from: number) => (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => {
    const adapter = new Adapter(options, clock, hosts);
    const { run } = adapter;
    let runs = 0;
    adapter.run = (budget) => {
      if (++runs > from) throw new TypeError('planted\nhere');
      return run.call(adapter, budget);
    };
    return adapter;
  };
  const { divergence } = new Replay(recording, failing(3)).run();
  t.match(divergence, { expected: 'no exception', actual: /^TypeError: planted here at .*damaged-recording/ });
  const start = Uint8Array.of(RecordKind.RUN, 1);
  const ending = join(session.header, session.records, start);
  const runs = countRuns(recording);
  const last = new Replay(ending, failing(runs)).run();
  t.match(last.divergence, { expected: 'nothing: the recording ends there', actual: /planted/ });
});

function countRuns(recording: Uint8Array): number {
  const replay = new Replay(recording, build);
  let runs = 0;
  replay.onStep = ({ name }) => {
    if (name === 'run') runs++;
  };
  replay.run();
  return runs;
}

t.test('headers with other fields', async (t) => {
  const lone = { ...defaultAdapterOptions, ...SMALL };
  const adapter = { name: 'a', options: lone };
  const mthca = { name: 'b', personality: 'mthca', options: { ...defaultMthcaOptions, portLids: [5, 6] } };
  const node = { ...defaultSwitchNode, name: 's', ports: 8 };
  const link = { ports: ['a:1', 's:1'], link: { kind: 'cable' } };
  const streams = [{ port: 'a:2', link: { keepaliveNs: 1e9, outgoing: { seed: 1, delayNs: 2 } } }];
  const parts = { adapters: [adapter, mthca], switches: [node], links: [link], streams };
  const plans = [lone, { ...parts, subnet: 'managed' }] as const;
  const odd = [undefined, null, -1, 1.5, 1e12, 'x', [], { kind: 'faulty' }];
  let refused = 0;
  for (const plan of plans) {
    const functions = 'adapters' in plan ? 2 : 1;
    t.type(replay(join(encodeHeader(plan as never, functions))), 'object', 'the plan itself can be built');
    for (const other of changed(plan, odd))
      try {
        const end = replay(join(encodeHeader(other as never, functions)));
        if (typeof end === 'string') refused++;
        if (typeof end === 'string') t.match(end, /^The [^\n]*\.$/, JSON.stringify(other));
      } catch (error) {
        t.fail(`${JSON.stringify(other)}: ${(error as Error).stack}`);
      }
  }
  t.ok(refused > 200, `${refused} refused`);
  for (const json of ['', '{', 'null', '1', '"x"'])
    t.equal(replay(join(withJson(json))), 'The header of the recording holds no plan.', json);
  const word = Buffer.from('a:9 up');
  const change = Buffer.concat([Buffer.of(RecordKind.CHANGE_LINK, word.length), word]);
  t.match(
    replay(join(construction.header, construction.records, change)),
    /^The recording is damaged: step \d+, change link, .*: no link of this process is at port a:9\.$/,
  );
  t.match(replay(join(encodeHeader(defaultAdapterOptions, 2))), /option functionCount is 1, but there are 2 hosts/);
});

/** `plan` with each of its values, at any depth, replaced by each of `values`. */
function* changed(plan: unknown, values: readonly unknown[]): Generator<unknown> {
  if (typeof plan !== 'object' || plan === null) return;
  for (const [name, value] of Object.entries(plan)) {
    const put = (other: unknown): unknown =>
      Array.isArray(plan) ? plan.with(Number(name), other) : { ...plan, [name]: other };
    for (const other of values) yield put(other);
    for (const inner of changed(value, values)) yield put(inner);
  }
}

/** A header with this text in place of the plan. */
function withJson(json: string): Uint8Array {
  const header = Buffer.concat([session.header.subarray(0, HEADER_BYTES), Buffer.from(json)]);
  header.writeUInt32LE(json.length, HEADER_BYTES - 8);
  const crc = crc32(header.subarray(HEADER_BYTES), crc32(header.subarray(0, HEADER_BYTES - 4)));
  header.writeUInt32LE(crc, HEADER_BYTES - 4);
  return header;
}
