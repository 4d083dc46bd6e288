// SPDX-License-Identifier: Apache-2.0
/** Recorder and replay with a small deterministic adapter: equal replays, differences, damage. */
import t from 'tap';
import { type AdapterOptions, defaultAdapterOptions } from '../hca/adapter/options.ts';
import type { AdapterClock, AdapterPort, FunctionPort, HostPort, ResetKind, ResourceAnswer } from '../host.ts';
import { Random } from '../random.ts';
import { GuestMemoryModel } from '../rig/machine/guest-memory-model.ts';
import { InProcessHost } from '../rig/machine/host.ts';
import { SimulatedClock } from '../rig/machine/simulated-clock.ts';
import { Recorder } from './recording.ts';
import { decodeHeader } from './recording-format.ts';
import { Replay } from './replay.ts';

const MEMORY_BYTES = 64 * 1024;

/** A function whose calls to the host depend only on the calls to it. */
class FakeFunction implements FunctionPort {
  readHigh = 0;
  readonly takesAccess = true;
  sum = 0;
  readonly #host: HostPort;
  readonly #clock: AdapterClock;
  readonly #scratch = new Uint8Array(256);

  constructor(host: HostPort, clock: AdapterClock) {
    this.#host = host;
    this.#clock = clock;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.readHigh = sizeBytes === 8 ? this.sum : 0;
    return (offset + this.sum) >>> 0;
  }
  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.sum = (this.sum * 31 + offset + sizeBytes + low + high) >>> 0;
  }
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.writeRegister(offset, sizeBytes, low, high);
    this.#clock.setAlarm(this.#clock.now() + (low % 1000));
  }
  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.writeRegister(offset, sizeBytes, low ^ 1, high);
  }
  reset(kind: ResetKind): void {
    this.sum = kind.length;
  }
  setBusMaster(on: boolean): void {
    this.sum += on ? 1 : 2;
  }
  memoryMapped(address: number, lengthBytes: number): void {
    this.sum = (this.sum + address + lengthBytes) >>> 0;
  }
  memoryUnmapped(address: number, lengthBytes: number): void {
    this.sum = (this.sum - address - lengthBytes) >>> 0;
  }
  requestResources(changes: Uint8Array): ResourceAnswer {
    for (const byte of changes) this.sum = (this.sum * 7 + byte) >>> 0;
    return { status: this.sum & 0xf, index: changes.length, offset: this.sum & 7, limit: this.sum };
  }
  requestTrace(queuePair: number, attributes: Uint8Array): number {
    for (const byte of attributes) this.sum = (this.sum * 11 + byte + queuePair) >>> 0;
    return this.sum & 0x1f;
  }
  plantFault(words: Uint8Array): void {
    for (const byte of words) this.sum = (this.sum * 13 + byte) >>> 0;
  }

  work(base: number): void {
    const scratch = this.#scratch;
    const offset = this.sum % (MEMORY_BYTES + 4096);
    if (this.#host.readMemory({ value: base + offset }, 64, scratch, 8))
      for (const byte of scratch) this.sum = (this.sum * 3 + byte) >>> 0;
    scratch.fill(this.sum & 0xff);
    this.sum += this.#host.writeMemory({ value: base + (this.sum % MEMORY_BYTES) }, scratch, 0, this.sum % 200) ? 1 : 2;
    this.sum += this.#host.publish({ value: base + (this.sum % 512) * 64 }, scratch, 64, 64, 4) ? 1 : 2;
    this.sum += this.#host.raiseVector(this.sum % 64) ? 1 : 2;
    const word = { value: base + (offset & ~3) };
    const found = this.#host.compareAndSwap(word, this.sum % 2 === 0 ? scratch[8] * 0x01010101 : -1, -1);
    this.sum = (this.sum + (found ?? 7)) >>> 0;
  }
}

class FakeAdapter implements AdapterPort {
  readonly functions: FakeFunction[];
  readonly #base: number;

  constructor(hosts: HostPort[], clock: AdapterClock, base: number) {
    this.#base = base;
    clock.setAlarm(clock.now() + 100);
    this.functions = hosts.map((host) => new FakeFunction(host, clock));
  }

  run(budget: number): boolean {
    for (const port of this.functions) port.work(this.#base);
    return budget % 2 === 1;
  }
}

interface Session {
  readonly bytes: Uint8Array;
  readonly calls: number;
  readonly base: number;
}

/** Calls a fake adapter at random through a recorder; returns the recording. */
function recordSession(seed: number, calls: number, chunkBytes = 1024): Session {
  const random = new Random(seed);
  const clock = new SimulatedClock();
  const hosts = [0, 1].map(() => new InProcessHost(new GuestMemoryModel(MEMORY_BYTES)));
  const base = (hosts[0] as InProcessHost).memory.base;
  const pieces: Uint8Array[] = [];
  const recorder = new Recorder(defaultAdapterOptions, 2, (bytes) => pieces.push(bytes.slice()), chunkBytes);
  const fake = new FakeAdapter(
    hosts.map((host, index) => recorder.wrapHost(host, index)),
    recorder.wrapClock(clock),
    base,
  );
  const adapter = recorder.wrapAdapter(fake);
  for (let call = 0; call < calls; call++) {
    clock.advance(random.below(1_000_000_000));
    for (const host of hosts) host.masked[random.below(64)] = random.below(2);
    callAtRandom(adapter, random);
  }
  recorder.flush();
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { bytes, calls, base };
}

function callAtRandom(adapter: AdapterPort, random: Random): void {
  const port = random.pick(adapter.functions);
  const sizeBytes = random.pick([1, 2, 4, 8]);
  const [offset, low, high] = [random.below(0x8000), random.next(), sizeBytes === 8 ? random.next() : 0];
  const calls = [
    () => port.readRegister(offset, sizeBytes),
    () => port.writeRegister(offset, sizeBytes, low, high),
    () => port.writeCollect(offset, sizeBytes, low, high),
    () => port.writePio(offset, sizeBytes, low, high),
    () => port.reset(random.pick(['device', 'function', 'lost', 'software'])),
    () => port.setBusMaster(random.oneIn(2)),
    () => port.memoryMapped(low, high),
    () => port.memoryUnmapped(low * 0x10_0000, high),
    () => port.requestResources(random.bytes(8 * random.below(5))),
    () => port.requestTrace(random.below(1 << 24), random.bytes(random.below(80))),
    () => port.plantFault(random.bytes(random.below(40))),
    () => adapter.run(random.below(100)),
    () => adapter.run(random.below(100)),
  ];
  random.pick(calls)();
}

const buildFake = (base: number) => (_options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) =>
  new FakeAdapter(hosts, clock, base);

t.test('a recorded session replays to equal calls, whatever the chunk size', async (t) => {
  for (const [seed, chunkBytes] of [
    [1, 256],
    [2, 1000],
    [3, 65536],
  ] as const) {
    const { bytes, base } = recordSession(seed, 2000, chunkBytes);
    const replay = new Replay(bytes, buildFake(base));
    const result = replay.run();
    t.equal(result.divergence, undefined, `seed ${seed}`);
    t.equal(result.steps, 2000);
    t.notOk(result.truncated);
    t.same(replay.header.plan, defaultAdapterOptions);
  }
});

t.test('a replay stops at the first difference and reports it', async (t) => {
  const { bytes, base } = recordSession(4, 500);
  const steps: string[] = [];
  const replay = new Replay(bytes, (options, clock, hosts) => {
    const fake = buildFake(base)(options, clock, hosts);
    const first = fake.functions[0] as FakeFunction;
    const { writeRegister } = first;
    first.writeRegister = (offset, sizeBytes, low, high) => writeRegister.call(first, offset, sizeBytes, low + 1, high);
    return fake;
  });
  replay.onStep = ({ name, functionIndex }) => steps.push(`${name} ${functionIndex}`);
  const { divergence, steps: count } = replay.run();
  t.ok(divergence, 'the difference is found');
  t.equal(divergence?.during, `step ${count}: ${(steps.at(-1) ?? '').slice(0, -2)}`);
  t.equal(steps.length, count + 1, 'every step was announced');
  t.not(divergence?.expected, divergence?.actual);
});

t.test('a missing call and an additional call are differences', async (t) => {
  const { bytes, base } = recordSession(5, 500);
  const silent = new Replay(bytes, (options, clock, hosts) => {
    const fake = buildFake(base)(options, clock, hosts);
    (fake.functions[1] as FakeFunction).work = () => {};
    return fake;
  }).run();
  t.equal(silent.divergence?.expected, 'read memory');
  t.equal(silent.divergence?.actual, 'the end of run');
  const loud = new Replay(bytes, (options, clock, hosts) => {
    const fake = buildFake(base)(options, clock, hosts);
    const first = fake.functions[0] as FakeFunction;
    first.setBusMaster = () => void hosts[0]?.raiseVector(3);
    return fake;
  }).run();
  t.equal(loud.divergence?.actual, 'raise vector 3');
});

t.test('a recording truncated anywhere replays up to its last whole record', async (t) => {
  const { bytes, base } = recordSession(6, 200);
  const { lengthBytes } = decodeHeader(bytes);
  const random = new Random(6);
  let steps = 0;
  for (let cut = lengthBytes + random.below(50); cut < bytes.length; cut += random.between(1, 97)) {
    const result = new Replay(bytes.subarray(0, cut), buildFake(base)).run();
    if (result.divergence) t.fail(`cut at ${cut}: ${JSON.stringify(result.divergence)}`);
    t.ok(result.steps >= steps, `cut at ${cut}: ${result.steps} steps`);
    steps = result.steps;
  }
  t.ok(steps > 150);
});

t.test('a changed byte is refused with a message', async (t) => {
  const { bytes, base } = recordSession(7, 100);
  for (let position = 0; position < bytes.length; position += 37) {
    const damaged = bytes.slice();
    damaged[position] = (damaged[position] ?? 0) ^ 0x10;
    let message = '';
    try {
      // A length beyond the end of the file looks like a truncated recording.
      const result = new Replay(damaged, buildFake(base)).run();
      message = result.truncated ? 'truncated' : '';
    } catch (error) {
      message = (error as Error).message;
    }
    t.match(message, /^truncated$|^(The|This) .*\.$/, `byte ${position}`);
  }
});

t.test('a file that is no recording is refused with a message', async (t) => {
  const { bytes, base } = recordSession(8, 10);
  const refused = (change: (copy: Uint8Array, view: DataView) => void, pattern: RegExp): void => {
    const copy = bytes.slice();
    change(copy, new DataView(copy.buffer));
    t.throws(() => new Replay(copy, buildFake(base)), { message: pattern });
  };
  refused((copy) => copy.fill(0, 0, 8), /does not start with VUHCAREC/);
  refused((_, view) => view.setUint32(8, 99, true), /version 99/);
  refused((copy) => copy.fill(0x20, 40, 44), /header of the recording is damaged/);
  t.throws(() => new Replay(new Uint8Array(0), buildFake(base)), /not a recording/);
  t.throws(() => new Replay(bytes.subarray(0, 20), buildFake(base)), /ends in its header/);
});
